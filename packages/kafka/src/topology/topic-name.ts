import { legalTopicName } from '../client/cluster/legal-topic-name.ts'

/** The rule of topic names, for options. */
export const topicName: { readonly pattern: RegExp; readonly called: string } = {
  pattern: legalTopicName,
  called: 'a topic name: at most 249 letters, digits, dots, underscores and hyphens',
}
