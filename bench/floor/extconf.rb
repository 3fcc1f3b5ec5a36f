# frozen_string_literal: true

require "mkmf"

abort "the floor needs Linux's timers on a thread's CPU clock" unless have_func("timer_create", "time.h") && RUBY_PLATFORM.include?("linux")

create_makefile("floor")
