/** The invariants of a consumer that the specification of the chat names, on random chats, failures and processes. */

import assert from 'node:assert/strict'
import { NonRetryableError } from '@waybill/core'
import { createKafkaClient, type KafkaRecord } from '@waybill/kafka'
import { createSimCluster, createVirtualRuntime, type VirtualRuntime } from '@waybill/sim'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import { createConnector } from '../../src/engine/create-connector.ts'

const seeds = Array.from({ length: 25 }, (_, at) => at + 1)
const mostAttempts = 3

/** POISON is malformed, FAILING never succeeds, AWAY fails for a while because something behind the handler is away. */
type Kind = 'OK' | 'POISON' | 'FAILING' | 'AWAY'

interface Message {
  readonly chat: string
  readonly sequence: number
  readonly kind: Kind
}

/** What the handlers and the cluster have seen of a record, by its place. */
interface Seen {
  readonly message: Message
  readonly place: string
  readonly offset: bigint
  isHandled: boolean
  /** Calls in each process. */
  readonly calls: Map<number, number>
}

class Run {
  readonly seen = new Map<string, Seen>()
  readonly violations: string[] = []
  readonly #runtime: VirtualRuntime
  readonly #isBlocking: boolean
  readonly #partitions: number
  readonly #messages: Message[] = []

  constructor(runtime: VirtualRuntime) {
    this.#runtime = runtime
    this.#isBlocking = this.#draw(2) === 0
    this.#partitions = 1 + this.#draw(4)
  }

  async play(): Promise<void> {
    const runtime = this.#runtime
    const sim = createSimCluster({
      brokers: 1,
      runtime,
      onCommit: ({ offsets }) => {
        for (const { topic, partition, offset } of offsets)
          if (topic === 'chats') this.#checkCommit(`${partition}`, offset, endOf('chats.DLT'))
      },
    })
    sim.createTopic('chats', { partitions: this.#partitions })
    sim.createTopic('chats.DLT', { partitions: 1 })
    const endOf = (topic: string): bigint => sim.partition(topic, 0).highWatermark
    await using client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('chats'), runtime })
    await this.#write(client)
    let process = 0
    const start = async (): Promise<Connector> => {
      const own = process++
      const bindings = { chats: { ...this.#binding(), handler: (record: KafkaRecord) => this.#handle(record, own) } }
      const connector = createConnector({ clusters: { default: client }, bindings, runtime })
      await connector.start()
      return connector
    }
    let running = [await start()]
    for (let step = this.#draw(5); step > 0; step--) {
      await runtime.timers.sleep(this.#draw(3_000))
      if (running.length < 3 && this.#draw(2) === 0) running.push(await start())
      else if (running.length > 1) await running.shift()?.stop()
    }
    const dead = this.#messages.filter(({ kind }) => kind === 'POISON' || kind === 'FAILING').length
    await eventually(
      () => {
        const handled = [...this.seen.values()].filter(({ isHandled }) => isHandled).length
        assert.equal(handled, this.#messages.length - dead)
        assert.ok(endOf('chats.DLT') >= BigInt(dead))
      },
      { runtime, deadlineMs: 600_000 },
    )
    for (const connector of running) await connector.stop()
    running = []
    this.#checkOrder()
    this.#checkAttempts()
    await this.#checkDead(client, new Set(this.#messages.flatMap((one) => (isDead(one) ? [textOf(one)] : []))))
  }

  #binding(): Omit<Binding, 'handler'> {
    const ordered = { topic: 'chats', groupId: 'chats', derivedPartitions: 1, orderingMode: 'STRICT' } as const
    if (this.#isBlocking)
      return {
        ...ordered,
        failureProfile: 'BLOCKING_UNLIMITED',
        retry: { tier0: { maxAttempts: 1 }, blocking: { initialBackoffMs: 50 } },
      }
    return { ...ordered, retry: { tier0: { maxAttempts: mostAttempts, initialBackoffMs: 10, maxBackoffMs: 50 } } }
  }

  async #write(client: ReturnType<typeof createKafkaClient>): Promise<void> {
    const kinds: readonly Kind[] = this.#isBlocking
      ? ['OK', 'OK', 'OK', 'POISON', 'AWAY']
      : ['OK', 'OK', 'OK', 'POISON', 'FAILING', 'AWAY']
    const sequences = new Map<string, number>()
    await using producer = client.producer('EVENT')
    for (let count = 15 + this.#draw(25); count > 0; count--) {
      const chat = `chat-${this.#draw(5)}`
      const sequence = (sequences.get(chat) ?? 0) + 1
      sequences.set(chat, sequence)
      const message: Message = { chat, sequence, kind: kinds[this.#draw(kinds.length)] ?? 'OK' }
      this.#messages.push(message)
      void producer.send({ topic: 'chats', key: Buffer.from(chat), value: Buffer.from(textOf(message)) })
    }
    await producer.flush()
  }

  async #handle({ partition, offset, value }: KafkaRecord, process: number): Promise<void> {
    const message = JSON.parse(String(value)) as Message
    const place = `${partition}@${offset}`
    const seen = this.seen.get(place) ?? {
      message,
      place: `${partition}`,
      offset,
      isHandled: false,
      calls: new Map<number, number>(),
    }
    this.seen.set(place, seen)
    seen.calls.set(process, (seen.calls.get(process) ?? 0) + 1)
    await this.#runtime.timers.sleep(this.#draw(40))
    if (message.kind === 'POISON') throw new NonRetryableError('malformed')
    if (message.kind === 'FAILING') throw new Error('it never works')
    const calls = [...seen.calls.values()].reduce((sum, one) => sum + one, 0)
    // Blocking outlasts any outage; otherwise it ends before the last attempt.
    if (message.kind === 'AWAY' && calls < (this.#isBlocking ? 6 : mostAttempts)) throw new Error('ECONNREFUSED')
    seen.isHandled = true
  }

  #checkCommit(partition: string, committed: bigint, deadLetters: bigint): void {
    const below = [...this.seen.values()].filter(({ place, offset }) => place === partition && offset < committed)
    if (BigInt(below.length) !== committed)
      this.violations.push(`${partition}: ${committed} committed, ${below.length} called`)
    const unsettled = below.filter(({ isHandled, message }) => !isHandled && !isDead(message))
    for (const { message } of unsettled) this.violations.push(`${textOf(message)} is committed and was not processed`)
    const dead = below.filter(({ message }) => isDead(message)).length
    if (BigInt(dead) > deadLetters) this.violations.push(`${dead} dead below the commit, ${deadLetters} dead letters`)
  }

  #checkOrder(): void {
    const last = new Map<string, Seen>()
    const inOrder = [...this.seen.values()].toSorted((one, other) => Number(one.offset - other.offset))
    for (const seen of inOrder) {
      const before = last.get(seen.message.chat)
      if (before !== undefined && (before.place !== seen.place || before.message.sequence >= seen.message.sequence))
        this.violations.push(`${textOf(seen.message)} is behind ${textOf(before.message)}`)
      last.set(seen.message.chat, seen)
    }
  }

  #checkAttempts(): void {
    for (const { message, calls } of this.seen.values())
      for (const count of calls.values())
        if (isDead(message) && count > (message.kind === 'POISON' ? 1 : mostAttempts))
          this.violations.push(`${textOf(message)} was tried ${count} times`)
  }

  async #checkDead(client: ReturnType<typeof createKafkaClient>, wanted: ReadonlySet<string>): Promise<void> {
    const until = 1_000_000n
    const found = new Set<string>()
    const [end] = await client.admin.listOffsets([{ topic: 'chats.DLT', partition: 0 }], 'LATEST')
    const last = end?.outcome === 'DONE' ? (end.offset ?? until) : until
    await using reader = client.reader([{ topic: 'chats.DLT', partition: 0, from: 0n, until: last }])
    for (let records = await reader.next(100); records !== undefined; records = await reader.next(100))
      for (const { value } of records) found.add(String(value))
    assert.deepEqual([...found].toSorted(), [...wanted].toSorted())
  }

  #draw(bound: number): number {
    return Math.floor(this.#runtime.random() * bound)
  }
}

function isDead({ kind }: Message): boolean {
  return kind === 'POISON' || kind === 'FAILING'
}

function textOf(message: Message): string {
  return JSON.stringify(message)
}

test('S2-068 S2-069 S2-070 S2-071 order of a chat, commits after processing, bounded poison and transient failures hold for any run', {
  timeout: 120_000,
}, async () => {
  for (const seed of seeds) {
    const runtime = createVirtualRuntime(seed)
    await runtime.run(async () => {
      const run = new Run(runtime)
      await run.play()
      expect({ seed, violations: run.violations }).toEqual({ seed, violations: [] })
    })
  }
})
