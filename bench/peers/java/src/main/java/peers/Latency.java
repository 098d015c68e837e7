package peers;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;

/**
 * A steady rate through one process, without linger, in blocks: each line of the input says how many records, and is
 * answered by the list of their delays in milliseconds when all have come back.
 */
final class Latency {
  private static final SynchronousQueue<Integer> asked = new SynchronousQueue<>();
  private static final SynchronousQueue<double[]> answered = new SynchronousQueue<>();

  static void run() throws Exception {
    int rate = Main.number("rate");
    var topic = Main.text("topic");
    var receiver = new Thread(() -> receive(topic));
    receiver.setDaemon(true);
    receiver.start();
    var input = new BufferedReader(new InputStreamReader(System.in));
    try (var producer = new KafkaProducer<byte[], byte[]>(Main.promptProducerProperties())) {
      producer.partitionsFor(topic);
      for (String line; (line = input.readLine()) != null; ) {
        int count = Integer.parseInt(line.trim());
        asked.put(count);
        send(producer, topic, count, rate);
        System.out.println(Arrays.toString(answered.take()));
      }
    }
  }

  private static void send(KafkaProducer<byte[], byte[]> producer, String topic, int count, int rate) {
    long startedAt = System.nanoTime();
    for (int index = 0; index < count; index++) {
      long dueAt = startedAt + index * 1_000_000_000L / rate;
      for (long waitNanos; (waitNanos = dueAt - System.nanoTime()) > 0; ) LockSupport.parkNanos(waitNanos);
      var value = ByteBuffer.allocate(100).putInt(index).putLong(System.nanoTime()).array();
      producer.send(Payloads.record(topic, index, value));
    }
  }

  private static void receive(String topic) {
    var properties = Main.consumerProperties();
    properties.put("group.id", Main.group());
    properties.put("enable.auto.commit", "true");
    try (var consumer = new KafkaConsumer<byte[], byte[]>(properties)) {
      consumer.subscribe(List.of(topic));
      while (consumer.assignment().isEmpty()) consumer.poll(Duration.ofMillis(100));
      for (;;) {
        double[] delays = new double[asked.take()];
        for (int seen = 0; seen < delays.length; ) {
          for (var record : consumer.poll(Duration.ofMillis(200))) {
            var value = ByteBuffer.wrap(record.value());
            delays[value.getInt()] = (System.nanoTime() - value.getLong()) / 1e6;
            seen++;
          }
        }
        answered.put(delays);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
