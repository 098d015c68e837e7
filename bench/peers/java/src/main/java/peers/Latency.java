package peers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;

/** A steady rate through one process, without linger: the first second is not counted. */
final class Latency {
  static void run() throws Exception {
    int rate = Main.number("rate");
    int total = rate * (Main.number("seconds") + 1);
    var topic = Main.text("topic");
    long[] delays = new long[total];
    var ready = new CountDownLatch(1);
    var done = new CountDownLatch(1);
    new Thread(() -> receive(topic, delays, ready, done)).start();
    ready.await();
    var properties = Main.clientProperties();
    properties.put("linger.ms", "0");
    try (var producer = new KafkaProducer<byte[], byte[]>(properties)) {
      producer.partitionsFor(topic);
      long startedAt = System.nanoTime();
      for (int index = 0; index < total; index++) {
        long dueAt = startedAt + index * 1_000_000_000L / rate;
        for (long waitNanos; (waitNanos = dueAt - System.nanoTime()) > 0; ) LockSupport.parkNanos(waitNanos);
        var value = ByteBuffer.allocate(100).putInt(index).putLong(System.nanoTime()).array();
        producer.send(Payloads.record(topic, index, value));
      }
      done.await();
    }
    long[] sorted = Arrays.copyOfRange(delays, rate, total);
    Arrays.sort(sorted);
    double p50 = sorted[sorted.length / 2] / 1e6;
    double p99 = sorted[(int) (sorted.length * 0.99)] / 1e6;
    System.out.printf(Locale.ROOT, "{\"p50Ms\":%.3f,\"p99Ms\":%.3f}%n", p50, p99);
  }

  private static void receive(String topic, long[] delays, CountDownLatch ready, CountDownLatch done) {
    var properties = Main.consumerProperties();
    properties.put("group.id", Main.group());
    properties.put("enable.auto.commit", "true");
    try (var consumer = new KafkaConsumer<byte[], byte[]>(properties)) {
      consumer.subscribe(List.of(topic));
      while (consumer.assignment().isEmpty()) consumer.poll(Duration.ofMillis(100));
      ready.countDown();
      for (int seen = 0; seen < delays.length; ) {
        for (var record : consumer.poll(Duration.ofMillis(200))) {
          var value = ByteBuffer.wrap(record.value());
          delays[value.getInt()] = System.nanoTime() - value.getLong();
          seen++;
        }
      }
      done.countDown();
    }
  }
}
