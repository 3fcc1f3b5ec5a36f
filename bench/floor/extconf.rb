# frozen_string_literal: true

require "mkmf"

abort "the floor needs Linux's timers on a thread's CPU clock" unless have_func("timer_create", "time.h") && RUBY_PLATFORM.include?("linux")

have_func("rb_internal_thread_specific_key_create", "ruby/thread.h") # there the hooks on the GVL say whose they are

create_makefile("floor")
