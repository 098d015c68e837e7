import { type Schema, schemaOf } from '../schema/schema.ts'

/** The position of a dead letter. */
export interface LetterId {
  /** Undefined: the cluster of the binding. */
  readonly cluster: string | undefined
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

const pattern = /^(?:([^:\p{Cc}]{1,200}):)?([A-Za-z0-9._-]{1,249}):(\d{1,9}):(\d{1,19})$/u
const largestOffset = 9_223_372_036_854_775_807n

/** Reads `[{cluster}:]{topic}:{partition}:{offset}`; undefined for anything else. */
export function parseLetterId(text: string): LetterId | undefined {
  const [, cluster, topic, partition, offset] = pattern.exec(text) ?? []
  if (topic === undefined || partition === undefined || offset === undefined) return undefined
  const at = BigInt(offset)
  return at > largestOffset ? undefined : { cluster, topic, partition: Number(partition), offset: at }
}

/** The id of a dead letter: where it lies. */
export const letterId: Schema<LetterId> = schemaOf({
  expects: 'an id such as orders.DLT:0:17',
  json: { type: 'string', maxLength: 500, examples: ['orders.DLT:0:17', 'eu:orders.DLT:0:17'] },
  convert: (value) => (typeof value === 'string' ? parseLetterId(value) : undefined),
})
