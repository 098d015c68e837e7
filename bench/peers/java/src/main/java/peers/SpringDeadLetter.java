package peers;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.util.backoff.FixedBackOff;

/**
 * Every record fails and goes straight to TOPIC-dlt, without a retry. Tuned: no seek after an error, no linger. A record
 * is done when its dead letter is acknowledged.
 */
final class SpringDeadLetter {
  static void run() throws Exception {
    var topic = Main.text("topic");
    Topics.createLike(topic, topic + "-dlt");
    var countdown = new Countdown(Main.number("count"));
    var properties = new ContainerProperties(topic);
    properties.setGroupId(Main.group());
    properties.setMessageListener((MessageListener<byte[], byte[]>) record -> {
      countdown.begin();
      throw new Failure();
    });
    var consumers = new DefaultKafkaConsumerFactory<byte[], byte[]>(Main.consumerProperties());
    var container = new ConcurrentMessageListenerContainer<>(consumers, properties);
    container.setCommonErrorHandler(errorHandler(countdown));
    container.start();
    countdown.await();
    container.stop();
  }

  private static DefaultErrorHandler errorHandler(Countdown countdown) {
    var producers = new DefaultKafkaProducerFactory<byte[], byte[]>(Main.promptProducerProperties());
    var recoverer = new DeadLetterPublishingRecoverer(new KafkaTemplate<>(producers)) {
      @Override
      public void accept(ConsumerRecord<?, ?> record, Consumer<?, ?> consumer, Exception error) {
        super.accept(record, consumer, error);
        countdown.done();
      }
    };
    var handler = new DefaultErrorHandler(recoverer, new FixedBackOff(0, 0));
    handler.setSeekAfterError(false);
    return handler;
  }
}
