import { legalTopicName } from '../client/cluster/legal-topic-name.ts'

/** What Kafka takes as the name of a topic, for a rule of options. */
export const topicName: { readonly pattern: RegExp; readonly called: string } = {
  pattern: legalTopicName,
  called: 'a topic name: at most 249 letters, digits, dots, underscores and hyphens',
}
