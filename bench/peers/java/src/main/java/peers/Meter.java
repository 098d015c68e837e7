package peers;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;

/** Time from the first record on, and CPU of the whole process from the creation on. */
final class Meter {
  private static final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private final long cpuFrom = system.getProcessCpuTime();
  private volatile long startedAt = System.nanoTime();
  private volatile boolean hasStarted;
  private double seconds;
  private double cpuSeconds;

  /** From any thread: the first of them counts. */
  void first() {
    if (hasStarted) return;
    synchronized (this) {
      if (hasStarted) return;
      startedAt = System.nanoTime();
      hasStarted = true;
    }
  }

  void stop() {
    seconds = (System.nanoTime() - startedAt) / 1e9;
    cpuSeconds = (system.getProcessCpuTime() - cpuFrom) / 1e9;
  }

  /** Returns the fields of a JSON object. */
  String fields() {
    return String.format(Locale.ROOT, "\"seconds\":%.4f,\"cpuSeconds\":%.4f", seconds, cpuSeconds);
  }
}
