import { WaybillError } from '@waybill/core'

/** A binding and the topic it would read. */
export interface MissingSource {
  readonly binding: string
  readonly topic: string
}

/** A binding reads a topic that does not exist. */
export class SourceTopicMissingError extends WaybillError {
  static override readonly code = 'WAYBILL_SOURCE_TOPIC_MISSING'
  readonly missing: readonly MissingSource[]

  constructor(missing: readonly MissingSource[]) {
    const list = missing.map(({ binding, topic }) => `${topic} (binding ${binding})`).join(', ')
    super(`${missing.length === 1 ? 'This topic does' : 'These topics do'} not exist: ${list}.`, {
      kept: 'No record was read and no topic was created.',
      next: 'Check the names, or declare the topics: a source is never created by its reader, who cannot know its partitions.',
    })
    this.missing = missing
  }
}
