/**
 * Finds what changed once a second while there are readers, and passes it to them. Reading the state instead of subscribing to
 * it bounds the work whatever happens in the engine, and sends at most one event of a kind and key each second.
 */

import type { Runtime } from '@waybill/core'
import type { Grants } from '../access/access.ts'
import { writeJson } from '../json/write-json.ts'
import { AdminBusyError } from '../problem/admin-errors.ts'
import { eventText, type StreamEvent, type StreamPermission, StreamReader } from './stream-reader.ts'

/** Something that is shown in the stream. */
export interface StreamItem {
  /** Identifies it among those of its kind. */
  readonly key: string
  /** The subject of the permission; undefined: it needs the permission for all. */
  readonly subject: string | undefined
  readonly data: object
}

/** A part of the state. */
export interface StreamSource {
  readonly kind: string
  /** The word in `?topics=`. */
  readonly topic: string
  readonly permission: StreamPermission
  /** Whether it is the newest part of a longer list: an item that is not in it any more is not gone. @defaultValue false */
  readonly isWindow?: boolean
  /** How often it is read: a database is asked for it. @defaultValue each second */
  readonly everyMs?: number
  read(): Promise<readonly StreamItem[]>
}

/** A reader as it connects. */
export interface StreamRequest {
  readonly by: string
  readonly grants: Grants
  readonly topics: readonly string[]
  /** The id of the last event that the reader has. */
  readonly lastEventId: string | undefined
  readonly leave: AbortSignal
}

interface Connection extends StreamRequest {
  readonly reader: StreamReader
  readonly endsAt: number
}

const tickMs = 1_000
const heartbeatMs = 15_000
const longestMs = 3_600_000
const maxReaders = 50
const maxReadersOfIdentity = 5
const ringSize = 1_000

/** Serves the readers of one process. */
export class StreamHub {
  readonly #runtime: Runtime
  readonly #sources: readonly StreamSource[]
  readonly #connections = new Set<Connection>()
  readonly #ring: StreamEvent[] = []
  /** The last text of each item, by kind and key. */
  readonly #seen = new Map<string, string>()
  /** When a source with a time of its own was read, by its kind. */
  readonly #readAt = new Map<string, number>()
  #nextId = 1n
  #timer: Disposable | undefined
  #heartbeatAt = 0
  #isClosed = false
  /** The identities of readers that wait for their snapshot. */
  readonly #opening: string[] = []
  #work: Promise<void> = Promise.resolve()

  constructor(runtime: Runtime, sources: readonly StreamSource[]) {
    this.#runtime = runtime
    this.#sources = sources
  }

  /** Connects a reader. @throws AdminBusyError if there are too many */
  async open(request: StreamRequest): Promise<AsyncIterable<string>> {
    this.#dropEnded()
    const readers = [...this.#opening, ...[...this.#connections].map(({ by }) => by)]
    const own = readers.filter((by) => by === request.by)
    if (readers.length >= maxReaders || own.length >= maxReadersOfIdentity || this.#isClosed)
      throw new AdminBusyError('There are too many streams.', 429, 30)
    const now = this.#runtime.clock.monotonic()
    const connection: Connection = { ...request, reader: new StreamReader(), endsAt: now + longestMs }
    this.#opening.push(request.by)
    // A reader may leave before it has read anything.
    request.leave.addEventListener('abort', () => connection.reader.end(), { once: true })
    connection.reader.push('retry: 3000\n\n')
    try {
      // Alone: nothing is sent between the snapshot and the first event.
      await this.#runAlone(async () => {
        await this.#look(request.topics)
        if (!this.#resume(connection)) await this.#sendSnapshot(connection)
        this.#connections.add(connection)
      })
    } finally {
      this.#opening.splice(this.#opening.indexOf(request.by), 1)
    }
    this.#schedule()
    return connection.reader.read(request.leave, () => this.#connections.delete(connection))
  }

  /** Ends all streams. */
  close(): void {
    this.#isClosed = true
    this.#timer?.[Symbol.dispose]()
    for (const { reader } of this.#connections) reader.end()
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#connections.size === 0 || this.#isClosed) return
    this.#timer = this.#runtime.timers.schedule(tickMs, () => {
      this.#timer = undefined
      this.#runAlone(() => this.#tick())
        .catch((err: unknown) => this.#runtime.logger.error({ err }, 'Admin stream not updated'))
        .finally(() => this.#schedule())
    })
  }

  #runAlone(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work)
    this.#work = done.catch(() => {})
    return done
  }

  async #tick(): Promise<void> {
    const now = this.#runtime.clock.monotonic()
    for (const { reader, endsAt } of this.#connections) if (endsAt <= now) reader.end()
    this.#dropEnded()
    await this.#look()
    if (now - this.#heartbeatAt < heartbeatMs) return
    this.#heartbeatAt = now
    const data = writeJson({ at: new Date(this.#runtime.clock.now()).toISOString() })
    for (const { reader } of this.#connections) reader.push(eventText('heartbeat', data))
  }

  /** Drops readers that lag, whose time is over, or that left before they read anything. */
  #dropEnded(): void {
    for (const connection of this.#connections) if (!connection.reader.isOpen) this.#connections.delete(connection)
  }

  /** Reads all sources and sends the items that changed. */
  async #look(alsoFor: readonly string[] = []): Promise<void> {
    for (const source of this.#wanted(alsoFor)) {
      const { kind, topic, permission, isWindow = false } = source
      if (!alsoFor.includes(topic) && !this.#isDue(source)) continue
      const items = await this.#read(source)
      if (items === undefined) continue
      const present = new Set<string>()
      // Oldest first in a window, so that readers see entries in their order.
      for (const { key, subject, data } of isWindow ? items.toReversed() : items) {
        const name = `${kind} ${key}`
        present.add(name)
        const text = writeJson(data)
        if (this.#seen.get(name) === text) continue
        this.#seen.set(name, text)
        this.#send({ kind, topic, data: { key, ...data }, isVisible: (mayRead) => mayRead(permission, subject) })
      }
      for (const name of this.#seen.keys()) {
        if (!name.startsWith(`${kind} `) || present.has(name)) continue
        this.#seen.delete(name)
        if (isWindow) continue
        const key = name.slice(kind.length + 1)
        this.#send({ kind, topic, data: { key, gone: true }, isVisible: (mayRead) => mayRead(permission, key) })
      }
    }
  }

  #isDue({ kind, everyMs = 0 }: StreamSource): boolean {
    const readAt = this.#readAt.get(kind)
    return readAt === undefined || this.#runtime.clock.monotonic() - readAt >= everyMs
  }

  /** Returns undefined if the source fails: the others continue. */
  async #read(source: StreamSource): Promise<readonly StreamItem[] | undefined> {
    this.#readAt.set(source.kind, this.#runtime.clock.monotonic())
    try {
      return await source.read()
    } catch (err) {
      this.#runtime.logger.warn({ err, kind: source.kind }, 'Part of the admin stream not read, retrying')
      return undefined
    }
  }

  #wanted(alsoFor: readonly string[]): readonly StreamSource[] {
    const wanted = new Set([...alsoFor, ...[...this.#connections].flatMap(({ topics }) => topics)])
    return this.#sources.filter(({ topic }) => wanted.has(topic))
  }

  #send(given: Omit<StreamEvent, 'id'>): void {
    const event: StreamEvent = { ...given, id: this.#nextId++ }
    this.#ring.push(event)
    if (this.#ring.length > ringSize) this.#ring.shift()
    for (const connection of this.#connections) deliver(event, connection)
  }

  /** Sends what a reader missed. Returns false if that is not known any more. */
  #resume(connection: Connection): boolean {
    const { lastEventId } = connection
    if (lastEventId === undefined || !/^\d{1,18}$/.test(lastEventId)) return false
    const last = BigInt(lastEventId)
    const [oldest] = this.#ring
    if (oldest === undefined || last < oldest.id - 1n || last >= this.#nextId) return false
    for (const event of this.#ring) if (event.id > last) deliver(event, connection)
    return true
  }

  async #sendSnapshot(connection: Connection): Promise<void> {
    const { grants, topics, reader } = connection
    const parts: Record<string, object[]> = {}
    for (const source of this.#sources) {
      const { kind, topic, permission } = source
      if (!topics.includes(topic)) continue
      const visible = ((await this.#read(source)) ?? []).filter(({ subject }) => grants.allows(permission, subject))
      parts[kind] = visible.map(({ key, data }) => ({ key, ...data }))
    }
    reader.push(eventText('snapshot', writeJson(parts), this.#nextId - 1n))
  }
}

function deliver({ id, kind, topic, data, isVisible }: StreamEvent, { topics, grants, reader }: Connection): void {
  if (!topics.includes(topic) || !isVisible((permission, subject) => grants.allows(permission, subject))) return
  reader.push(eventText(kind, writeJson(data), id))
}
