package peers;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.retrytopic.RetryTopicConfiguration;
import org.springframework.kafka.retrytopic.RetryTopicConfigurationBuilder;
import org.springframework.kafka.retrytopic.RetryTopicConfigurationSupport;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/**
 * Every record fails in its topic and in retry topics of 200, 400 and 800 ms, then it is dead. Tuned: no seek after an
 * error, no linger. A record is done when the listener of the dead letter topic has it.
 */
final class SpringTiers {
  private static volatile Pass pass;

  static void run(Pass next) throws InterruptedException {
    pass = next;
    System.setProperty("peers.topic", pass.topic);
    System.setProperty("peers.group", pass.group);
    try (var context = new AnnotationConfigApplicationContext(NoSeek.class, Beans.class)) {
      pass.await();
      var containers = context.getBean(KafkaListenerEndpointRegistry.class).getAllListenerContainers();
      containers.forEach(container -> container.metrics().values().forEach(pass::countCommits));
    }
  }

  @Configuration
  static class NoSeek extends RetryTopicConfigurationSupport {
    @Override
    protected void configureCustomizers(CustomizersConfigurer customizers) {
      customizers.customizeErrorHandler(handler -> handler.setSeekAfterError(false));
    }
  }

  @Configuration
  @EnableKafka
  static class Beans {
    @Bean
    ConsumerFactory<byte[], byte[]> consumers() {
      return new DefaultKafkaConsumerFactory<>(Main.consumerProperties());
    }

    @Bean
    ConcurrentKafkaListenerContainerFactory<byte[], byte[]> kafkaListenerContainerFactory(ConsumerFactory<byte[], byte[]> consumers) {
      var factory = new ConcurrentKafkaListenerContainerFactory<byte[], byte[]>();
      factory.setConsumerFactory(consumers);
      factory.setConcurrency(Main.number("concurrency"));
      return factory;
    }

    @Bean
    KafkaTemplate<byte[], byte[]> template() {
      return new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(Main.promptProducerProperties()));
    }

    @Bean
    KafkaAdmin admin() {
      return new KafkaAdmin(Main.clientProperties());
    }

    @Bean
    TaskScheduler scheduler() {
      return new ThreadPoolTaskScheduler();
    }

    @Bean
    Listener listener() {
      return new Listener();
    }

    @Bean
    RetryTopicConfiguration tiers(KafkaTemplate<byte[], byte[]> template) {
      return RetryTopicConfigurationBuilder.newInstance()
          .maxAttempts(4)
          .exponentialBackoff(200, 2, 800)
          .autoCreateTopicsWith(Main.number("partitions"), (short) 1)
          .dltHandlerMethod("listener", "dead")
          .create(template);
    }
  }

  static class Listener {
    @KafkaListener(topics = "#{systemProperties['peers.topic']}", groupId = "#{systemProperties['peers.group']}")
    public void handle(ConsumerRecord<byte[], byte[]> record) {
      pass.readShared(record);
      throw new Failure();
    }

    public void dead(ConsumerRecord<byte[], byte[]> record) {
      pass.doneShared(record);
    }
  }
}
