# frozen_string_literal: true

# Preloaded: makes SIGPROF somebody else's.
trap("PROF") {}
