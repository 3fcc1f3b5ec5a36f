# frozen_string_literal: true

# A bank that takes its time to open: a named pipe to which it writes late.
File.mkfifo("rates")
sleep 1
File.write("rates", "1.1")
