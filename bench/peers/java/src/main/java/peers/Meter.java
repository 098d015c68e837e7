package peers;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;

/** Time from the first record on, and CPU of the whole process. */
final class Meter {
  private static final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private final long cpuNanos = system.getProcessCpuTime();
  private volatile long startedAt = System.nanoTime();
  private volatile boolean hasStarted;

  /** From any thread: the first of them counts. */
  void first() {
    if (hasStarted) return;
    synchronized (this) {
      if (hasStarted) return;
      startedAt = System.nanoTime();
      hasStarted = true;
    }
  }

  /** Reports a case of the client. */
  void print(long count) {
    System.out.printf(Locale.ROOT, "{\"perSecond\":%.1f,\"cpuMicrosPerRecord\":%.4f}%n", count / seconds(), cpuSeconds() * 1e6 / count);
  }

  /** Reports a case of the connector. */
  void printTotals(long records) {
    System.out.printf(Locale.ROOT, "{\"records\":%d,\"seconds\":%.4f,\"cpuSeconds\":%.4f}%n", records, seconds(), cpuSeconds());
  }

  private double seconds() {
    return (System.nanoTime() - startedAt) / 1e9;
  }

  private double cpuSeconds() {
    return (system.getProcessCpuTime() - cpuNanos) / 1e9;
  }
}
