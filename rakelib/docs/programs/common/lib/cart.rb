# frozen_string_literal: true

# A cart, to be documented.
class Cart
end
