package peers;

import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.producer.KafkaProducer;

/** Writes as fast as the client takes records: acks from all replicas, idempotent, 5 ms linger, 64 KiB batches. */
final class Produce {
  static void run() {
    int count = Main.number("count");
    var payloads = new Payloads(Main.number("bytes"));
    int number = 0;
    for (var topic : Main.text("topics").split(",")) {
      var meter = write(topic, count, payloads);
      System.out.printf(Locale.ROOT, "{\"pass\":%d,\"topic\":\"%s\",\"records\":%d,%s}%n", number++, topic, count, meter.fields());
    }
  }

  private static Meter write(String topic, int count, Payloads payloads) {
    var properties = Main.clientProperties();
    properties.put("acks", "all");
    properties.put("enable.idempotence", "true");
    properties.put("linger.ms", "5");
    properties.put("batch.size", "65536");
    var failed = new AtomicLong();
    try (var producer = new KafkaProducer<byte[], byte[]>(properties)) {
      producer.partitionsFor(topic);
      var meter = new Meter();
      meter.first();
      for (int index = 0; index < count; index++) {
        producer.send(payloads.record(topic, index), (written, error) -> {
          if (error != null) failed.incrementAndGet();
        });
      }
      producer.flush();
      meter.stop();
      if (failed.get() > 0) throw new IllegalStateException(failed.get() + " records were not written");
      return meter;
    }
  }
}
