package peers;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.retry.Retry;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.AcknowledgingMessageListener;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ContainerProperties.AckMode;

/** Spring's listener container, acknowledged record by record. `commits` is SYNC or ASYNC, `concurrency` its consumers. */
final class SpringListen {
  /** MANUAL: commits after each poll. The handler runs in a retry within a circuit breaker, both with their defaults. */
  static void withResilience4j(Pass pass) throws InterruptedException {
    var breaker = CircuitBreaker.ofDefaults("bench");
    var retry = Retry.ofDefaults("bench");
    listen(pass, AckMode.MANUAL, (record, acknowledgment) -> {
      CircuitBreaker.decorateRunnable(breaker, Retry.decorateRunnable(retry, () -> pass.read(record))).run();
      acknowledgment.acknowledge();
      pass.done(record);
    });
  }

  /** MANUAL_IMMEDIATE: commits each record; a synchronous commit is awaited before the next record. */
  static void manualImmediate(Pass pass) throws InterruptedException {
    listen(pass, AckMode.MANUAL_IMMEDIATE, (record, acknowledgment) -> {
      pass.read(record);
      acknowledgment.acknowledge();
      pass.done(record);
    });
  }

  private static void listen(Pass pass, AckMode mode, AcknowledgingMessageListener<byte[], byte[]> listener)
      throws InterruptedException {
    var properties = new ContainerProperties(pass.topic);
    properties.setGroupId(pass.group);
    properties.setAckMode(mode);
    properties.setSyncCommits(Main.text("commits").equals("SYNC"));
    properties.setMessageListener(listener);
    var consumer = Main.consumerProperties();
    consumer.put("max.poll.records", Main.text("poll"));
    var consumers = new DefaultKafkaConsumerFactory<byte[], byte[]>(consumer);
    var container = new ConcurrentMessageListenerContainer<>(consumers, properties);
    container.setConcurrency(Main.number("concurrency"));
    container.start();
    pass.await();
    container.metrics().values().forEach(pass::countCommits);
    container.stop();
  }
}
