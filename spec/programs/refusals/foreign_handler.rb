# frozen_string_literal: true

# Preloaded: gives SIGPROF to another owner.
trap("PROF") {}
