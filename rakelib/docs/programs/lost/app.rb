# frozen_string_literal: true

# Has C code copy pages, and frees no copy.
require "fiddle"

COPY = Fiddle::Function.new(Fiddle::Handle::DEFAULT["strdup"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOIDP)
PAGE = "page" * 500

def render = COPY.call(PAGE) && nil

5_000.times { render }
