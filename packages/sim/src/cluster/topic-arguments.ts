import { ArgumentError } from '@waybill/core'
import { isPlainObject, showValue } from '@waybill/core/option'

/** A number of partitions in place of the options would make one partition, in silence. @throws ArgumentError */
export function requireTopicOptions(given: unknown): void {
  if (isPlainObject(given)) return
  const partitions = typeof given === 'number' ? given : 3
  throw new ArgumentError(
    `createTopic(): options must be an object, got ${showValue(given)}; write { partitions: ${partitions} }.`,
    { impact: 'No topic was made.' },
  )
}
