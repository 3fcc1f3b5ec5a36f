class Shop
  LOCK, ANSWERS = Mutex.new, Queue.new
  def pay = LOCK.synchronize { ANSWERS.pop }
  def ship = LOCK.synchronize { :shipped }
end
Thread.new { Shop.new.pay }.name = "payments"
sleep 0.1
Thread.new { Shop.new.ship }.name = "shipping"
sleep
