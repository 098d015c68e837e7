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
  static void run(Pass pass) throws Exception {
    Topics.createLike(pass.topic, pass.topic + "-dlt");
    var properties = new ContainerProperties(pass.topic);
    properties.setGroupId(pass.group);
    properties.setMessageListener((MessageListener<byte[], byte[]>) record -> {
      pass.read(record);
      throw new Failure();
    });
    var consumers = new DefaultKafkaConsumerFactory<byte[], byte[]>(Main.consumerProperties());
    var container = new ConcurrentMessageListenerContainer<>(consumers, properties);
    container.setConcurrency(Main.number("concurrency"));
    var producers = new DefaultKafkaProducerFactory<byte[], byte[]>(Main.promptProducerProperties());
    container.setCommonErrorHandler(errorHandler(pass, new KafkaTemplate<>(producers)));
    container.start();
    pass.await();
    container.metrics().values().forEach(pass::countCommits);
    container.stop();
    producers.destroy();
  }

  private static DefaultErrorHandler errorHandler(Pass pass, KafkaTemplate<byte[], byte[]> template) {
    var recoverer = new DeadLetterPublishingRecoverer(template) {
      @Override
      public void accept(ConsumerRecord<?, ?> record, Consumer<?, ?> consumer, Exception error) {
        super.accept(record, consumer, error);
        pass.done(record);
      }
    };
    var handler = new DefaultErrorHandler(recoverer, new FixedBackOff(0, 0));
    handler.setSeekAfterError(false);
    return handler;
  }
}
