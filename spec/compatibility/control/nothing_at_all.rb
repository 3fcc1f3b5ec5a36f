# frozen_string_literal: true

# Does nothing. See CONTROL in ../ways.rb.
