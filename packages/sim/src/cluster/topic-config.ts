/** The topic settings of Apache Kafka 4.3 with their defaults, and the few whose effect is simulated. */

/** The default configuration of a topic. */
const defaults: Readonly<Record<string, string>> = {
  'cleanup.policy': 'delete',
  'compression.gzip.level': '-1',
  'compression.lz4.level': '9',
  'compression.type': 'producer',
  'compression.zstd.level': '3',
  'delete.retention.ms': '86400000',
  'file.delete.delay.ms': '60000',
  'flush.messages': '9223372036854775807',
  'flush.ms': '9223372036854775807',
  'follower.replication.throttled.replicas': '',
  'index.interval.bytes': '4096',
  'leader.replication.throttled.replicas': '',
  'local.retention.bytes': '-2',
  'local.retention.ms': '-2',
  'max.compaction.lag.ms': '9223372036854775807',
  'max.message.bytes': '1048588',
  'message.timestamp.after.max.ms': '3600000',
  'message.timestamp.before.max.ms': '9223372036854775807',
  'message.timestamp.type': 'CreateTime',
  'min.cleanable.dirty.ratio': '0.5',
  'min.compaction.lag.ms': '0',
  'min.insync.replicas': '1',
  preallocate: 'false',
  'remote.log.copy.disable': 'false',
  'remote.log.delete.on.disable': 'false',
  'remote.storage.enable': 'false',
  'retention.bytes': '-1',
  'retention.ms': '604800000',
  'segment.bytes': '1073741824',
  'segment.index.bytes': '10485760',
  'segment.jitter.ms': '0',
  'segment.ms': '604800000',
  'unclean.leader.election.enable': 'false',
}

const words: Readonly<Record<string, RegExp>> = {
  'cleanup.policy': /^(|delete|compact|delete,compact|compact,delete)$/,
  'compression.type': /^(producer|uncompressed|zstd|lz4|snappy|gzip)$/,
  'message.timestamp.type': /^(CreateTime|LogAppendTime)$/,
}

/** One setting as it is asked for; null takes an override away. */
export interface ConfigChange {
  readonly name: string
  readonly value: string | null
}

/** Why a broker refuses a setting; null when it takes it. */
export function configProblem({ name, value }: ConfigChange): string | null {
  const fallback = defaults[name]
  if (fallback === undefined) return `Unknown topic config name: ${name}`
  if (value === null) return null
  const word = words[name]
  if (word !== undefined)
    return word.test(value) ? null : `Invalid value ${value} for configuration ${name}: not one it can have`
  if (/^(true|false)$/.test(fallback))
    return /^(true|false)$/i.test(value)
      ? null
      : `Invalid value ${value} for configuration ${name}: Expected value to be either true or false`
  return fallback === '' || (value.trim() !== '' && Number.isFinite(Number(value)))
    ? null
    : `Invalid value ${value} for configuration ${name}: Not a number`
}

/** The settings of one topic. */
export class TopicConfig {
  readonly #overrides = new Map<string, string>()

  constructor(changes: readonly ConfigChange[]) {
    this.change(changes)
  }

  get maxMessageBytes(): number {
    return this.#number('max.message.bytes')
  }

  get isAppendTime(): boolean {
    return this.#text('message.timestamp.type') === 'LogAppendTime'
  }

  get maxAheadMs(): number {
    return this.#number('message.timestamp.after.max.ms')
  }

  get minInSyncReplicas(): number {
    return this.#number('min.insync.replicas')
  }

  /** Infinity when records are kept for ever. */
  get retentionMs(): number {
    const ms = this.#number('retention.ms')
    return ms < 0 ? Number.POSITIVE_INFINITY : ms
  }

  get isCompacted(): boolean {
    return this.#text('cleanup.policy').includes('compact')
  }

  /** Its cleanup.policy deletes what is old. */
  get deletesRecords(): boolean {
    return this.#text('cleanup.policy').includes('delete')
  }

  /** Applies changes that {@link configProblem} has nothing against. */
  change(changes: readonly ConfigChange[]): void {
    for (const { name, value } of changes) {
      if (value === null) this.#overrides.delete(name)
      else this.#overrides.set(name, value)
    }
  }

  /** Every setting, as a broker describes them. */
  describe(): { name: string; value: string; isDefault: boolean }[] {
    return Object.keys(defaults).map((name) => ({
      name,
      value: this.#text(name),
      isDefault: !this.#overrides.has(name),
    }))
  }

  #text(name: string): string {
    return this.#overrides.get(name) ?? defaults[name] ?? ''
  }

  #number(name: string): number {
    return Number(this.#text(name))
  }
}
