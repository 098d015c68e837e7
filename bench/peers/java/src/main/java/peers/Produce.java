package peers;

import org.apache.kafka.clients.producer.KafkaProducer;

/** Writes as fast as the client takes records: acks from all replicas, idempotent, 5 ms linger, 64 KiB batches. */
final class Produce {
  static void run() {
    var properties = Main.clientProperties();
    properties.put("acks", "all");
    properties.put("enable.idempotence", "true");
    properties.put("linger.ms", "5");
    properties.put("batch.size", "65536");
    int count = Main.number("count");
    var topic = Main.text("topic");
    var payloads = new Payloads(Main.number("bytes"));
    try (var producer = new KafkaProducer<byte[], byte[]>(properties)) {
      producer.partitionsFor(topic);
      var meter = new Meter();
      for (int index = 0; index < count; index++) {
        producer.send(payloads.record(topic, index), (written, error) -> {
          if (error != null) throw new IllegalStateException(error);
        });
      }
      producer.flush();
      meter.print(count);
    }
  }
}
