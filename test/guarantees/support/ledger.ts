import { type KafkaClient, type KafkaRecord, requireAllDone } from '@waybill/kafka'

/** The handled records and their handlers. Every value must be written once in a test. */
export class Ledger {
  readonly #handled = new Map<string, string[]>()

  handle(worker: string, { partition, offset, value }: KafkaRecord): void {
    const text = String(value)
    const by = this.#handled.get(text) ?? []
    by.push(`${worker} at ${partition}@${offset}`)
    this.#handled.set(text, by)
  }

  /** Different records that were handled. */
  get size(): number {
    return this.#handled.size
  }

  /** Handled values, each once. */
  get values(): string[] {
    return [...this.#handled.keys()]
  }

  /** Returns those of these values that were not handled. */
  missing(values: Iterable<string>): string[] {
    return [...values].filter((value) => !this.#handled.has(value))
  }

  /** Everything that was handled more than once, with its handlers. */
  get repeated(): string[] {
    return [...this.#handled].flatMap(([value, by]) => (by.length > 1 ? [`${value}: ${by.join(', ')}`] : []))
  }
}

/** Returns the committed records of a topic in log order, by partition. */
export async function readLog(kafka: KafkaClient, groupId: string, topic: string): Promise<string[][]> {
  const [described] = requireAllDone('Describing the topic', await kafka.admin.describeTopics([topic]))
  const partitions = Array.from({ length: described?.partitions.length ?? 0 }, (_, partition) => ({ topic, partition }))
  const ends = requireAllDone('Finding the ends', await kafka.admin.listOffsets(partitions, 'LATEST'))
  const consumer = kafka.consumer({ groupId, topics: [topic], maxWaitMs: 100 })
  await consumer.start()
  const log: string[][] = partitions.map(() => [])
  while (!ends.every((end) => (consumer.position(end) ?? -1n) >= (end.offset ?? 0n)))
    for (const { partition, value } of await consumer.poll(1_000, 100)) log[partition]?.push(String(value))
  await consumer.stop()
  return log
}
