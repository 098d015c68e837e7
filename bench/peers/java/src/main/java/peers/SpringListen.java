package peers;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.retry.Retry;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.AcknowledgingMessageListener;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ContainerProperties.AckMode;

/** Spring's listener container with a handler that does nothing, acknowledged record by record. */
final class SpringListen {
  /** MANUAL: commits after each poll. The handler runs in a retry within a circuit breaker, both as they come. */
  static void withResilience4j() throws InterruptedException {
    var countdown = new Countdown(Main.number("count"));
    var breaker = CircuitBreaker.ofDefaults("bench");
    var retry = Retry.ofDefaults("bench");
    listen(countdown, AckMode.MANUAL, (record, acknowledgment) -> {
      CircuitBreaker.decorateRunnable(breaker, Retry.decorateRunnable(retry, () -> handle(countdown))).run();
      acknowledgment.acknowledge();
    });
  }

  /** MANUAL_IMMEDIATE: each record's commit is waited for. */
  static void manualImmediate() throws InterruptedException {
    var countdown = new Countdown(Main.number("count"));
    listen(countdown, AckMode.MANUAL_IMMEDIATE, (record, acknowledgment) -> {
      handle(countdown);
      acknowledgment.acknowledge();
    });
  }

  private static void handle(Countdown countdown) {
    countdown.begin();
    countdown.done();
  }

  private static void listen(Countdown countdown, AckMode mode, AcknowledgingMessageListener<byte[], byte[]> listener)
      throws InterruptedException {
    var properties = new ContainerProperties(Main.text("topic"));
    properties.setGroupId(Main.group());
    properties.setAckMode(mode);
    properties.setSyncCommits(true);
    properties.setMessageListener(listener);
    var consumers = new DefaultKafkaConsumerFactory<byte[], byte[]>(Main.consumerProperties());
    var container = new ConcurrentMessageListenerContainer<>(consumers, properties);
    container.start();
    countdown.await();
    container.stop();
  }
}
