package peers;

import java.util.List;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.errors.TopicExistsException;

/** Topics that a peer writes to. */
final class Topics {
  /** Creates a topic with as many partitions as another, unless it exists. */
  static void createLike(String model, String topic) throws Exception {
    try (var admin = Admin.create(Main.clientProperties())) {
      var description = admin.describeTopics(List.of(model)).allTopicNames().get().get(model);
      admin.createTopics(List.of(new NewTopic(topic, description.partitions().size(), (short) 1))).all().get();
    } catch (ExecutionException error) {
      if (!(error.getCause() instanceof TopicExistsException)) throw error;
    }
  }
}
