package peers;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Counts records, of any thread, until the last one that was asked for is done. */
final class Countdown {
  private final Meter meter = new Meter();
  private final long count;
  private final AtomicLong seen = new AtomicLong();
  private final CountDownLatch last = new CountDownLatch(1);

  Countdown(long count) {
    this.count = count;
  }

  /** A handler begins. */
  void begin() {
    meter.first();
  }

  /** A record needs nothing more. */
  void done() {
    if (seen.incrementAndGet() == count) last.countDown();
  }

  /** Prints what it took, or fails: a part of the work is no result. */
  void await() throws InterruptedException {
    int seconds = Main.number("wait");
    if (!last.await(seconds, TimeUnit.SECONDS)) {
      throw new IllegalStateException(seen.get() + " of " + count + " records within " + seconds + " s");
    }
    meter.printTotals(count);
  }
}
