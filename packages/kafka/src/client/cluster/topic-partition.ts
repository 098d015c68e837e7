/** One partition of a topic. */
export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}
