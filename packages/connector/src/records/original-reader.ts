/**
 * Reads the originals of replays, many at a time: dead letters of one outage lie side by side, and so do their originals
 * and their replays. A read connects and fetches up to a megabyte whether one record of it is used or all of them.
 *
 *     asked ──the last page of the partition covers it──▶ answered without a read
 *       └── no: one read at a time for each partition ──▶ a page, kept for a few seconds
 */

import type { Timers } from '@waybill/core'
import { createNamedMutex } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { partitionName } from '@waybill/kafka/internal'
import type { RecordPosition } from './foreign-replay.ts'
import type { RecordPage } from './read-record.ts'

/** Reads an original; undefined when it no longer exists. `before` is the offset of its copy. */
export type ReadOriginal = (at: RecordPosition, before: bigint, signal: AbortSignal) => Promise<KafkaRecord | undefined>

type ReadPage = (at: RecordPosition, until: bigint, signal: AbortSignal) => Promise<RecordPage>

/** Pages are for partitions whose replays are read now. Others read one record at a time. */
const mostPages = 8
/** A larger page is not kept: 8 MiB in all. */
const mostPageBytes = 1024 * 1024
const keptMs = 5_000

/** The records read last of a partition. */
interface KeptPage extends Disposable {
  readonly page: RecordPage
}

/** See the file's comment. */
export class OriginalReader {
  readonly #readPage: ReadPage
  readonly #timers: Timers
  readonly #turns = createNamedMutex()
  readonly #pages = new Map<string, KeptPage>()

  constructor(read: ReadPage, timers: Timers) {
    this.#readPage = read
    this.#timers = timers
  }

  read: ReadOriginal = (at, before, signal) => {
    const name = partitionName(at)
    const readInTurn = async (): Promise<KafkaRecord | undefined> => {
      const kept = this.#pages.get(name)?.page
      const page = kept?.covers(at.offset) === true ? kept : await this.#readAndKeep(name, at, before, signal)
      return page.at(at.offset)
    }
    return this.#turns.run(name, readInTurn, signal)
  }

  async #readAndKeep(name: string, at: RecordPosition, before: bigint, signal: AbortSignal): Promise<RecordPage> {
    const page = await this.#readPage(at, before, signal)
    this.#pages.get(name)?.[Symbol.dispose]()
    if (page.bytes <= mostPageBytes && this.#pages.size < mostPages) this.#keep(name, page)
    return page
  }

  #keep(name: string, page: RecordPage): void {
    const timer = this.#timers.schedule(keptMs, () => kept[Symbol.dispose]())
    const kept: KeptPage = {
      page,
      [Symbol.dispose]: () => {
        timer[Symbol.dispose]()
        if (this.#pages.get(name) === kept) this.#pages.delete(name)
      },
    }
    this.#pages.set(name, kept)
  }
}
