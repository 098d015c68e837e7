package peers;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;

/** Rate from the first record on, and CPU of the whole process. */
final class Meter {
  private static final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private final long cpuNanos = system.getProcessCpuTime();
  private long startedAt = System.nanoTime();
  private boolean hasStarted;

  void first() {
    if (hasStarted) return;
    hasStarted = true;
    startedAt = System.nanoTime();
  }

  void print(long count) {
    double seconds = (System.nanoTime() - startedAt) / 1e9;
    double cpuMicros = (system.getProcessCpuTime() - cpuNanos) / 1e3;
    System.out.printf(Locale.ROOT, "{\"perSecond\":%.1f,\"cpuMicrosPerRecord\":%.4f}%n", count / seconds, cpuMicros / count);
  }
}
