import { Buffer } from 'node:buffer'
import { createKafkaClient, type KafkaClient, KafkaError, PartialFailureError } from '@waybill/kafka'
import { expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import { PositionRefusedError, PositionUnknownError } from '../../src/api/position-errors.ts'
import { createConnector } from '../../src/engine/create-connector.ts'
import { transactionalIdOf } from '../../src/partition/transaction/transactional-id.ts'
import { troubledTransport } from '../partition/transaction/troubled-transport.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'
import { openAdministration } from '../support/open-administration.ts'

const alice = { by: 'alice' }
const nothing = async (): Promise<void> => {}
const orders: Binding = {
  topic: 'orders',
  groupId: 'orders',
  transactional: { timeoutMs: 4_000 },
  retry: { tiers: [] },
  handler: ({ value, key }, context) =>
    context.send({ topic: 'shipments', key, value: Buffer.from(`f(${String(value)})`) }),
}

interface Desk {
  readonly bus: Connector
  readonly troubled: ReturnType<typeof troubledTransport>
  /** The ids of open producers. */
  readonly open: string[]
  /** The ids of all producers. */
  readonly made: string[]
  /** The id that no producer can take. */
  refused: string | undefined
  /** Called after the positions were read. */
  afterRead: () => Promise<void>
  /** Called after the group was described. */
  afterQuestion: () => Promise<void>
}

/** Starts a connector, handles two records in each of two partitions, and stops its binding. */
async function deskOf({ sim, runtime, write, eventually }: ConnectorWorld): Promise<Desk> {
  sim.createTopic('orders', { partitions: 2 })
  sim.createTopic('shipments')
  const troubled = troubledTransport(sim.transport('desk'))
  const client = createKafkaClient({ brokers: sim.brokers, transport: troubled.transport, runtime })
  const watched: KafkaClient = {
    ...client,
    transactionalProducer(id, options) {
      const producer = client.transactionalProducer(id, options)
      desk.made.push(id)
      desk.open.push(id)
      const close = producer.close.bind(producer)
      const begin = producer.begin.bind(producer)
      return Object.assign(producer, {
        begin: () => (id === desk.refused ? Promise.reject(new KafkaError('Refused.', 'FATAL')) : begin()),
        close: async () => {
          await close()
          desk.open.splice(desk.open.indexOf(id), 1)
        },
      })
    },
    admin: {
      ...client.admin,
      groupOffsets: async (...given) => {
        const offsets = await client.admin.groupOffsets(...given)
        await desk.afterRead()
        return offsets
      },
      describeGroups: async (...given) => {
        const groups = await client.admin.describeGroups(...given)
        await desk.afterQuestion()
        return groups
      },
    },
  }
  const bus = createConnector({
    clusters: { default: watched },
    bindings: { orders },
    administration: openAdministration,
    runtime,
  })
  const desk: Desk = {
    bus,
    troubled,
    open: [],
    made: [],
    refused: undefined,
    afterRead: nothing,
    afterQuestion: nothing,
  }
  await bus.start()
  for (const partition of [0, 1]) await write('orders', ['a', 'b'], partition)
  await eventually(async () => expect(await positions(bus)).toEqual([2n, 2n]))
  await bus.stop('orders')
  desk.made.length = 0
  desk.open.length = 0
  return desk
}

async function positions(bus: Connector): Promise<(bigint | null)[]> {
  return (await bus.audit()).filter(({ topic }) => topic === 'orders').map(({ committed }) => committed)
}

function owned(bus: Connector): number[] {
  const members = bus.listBindings().flatMap(({ containers }) => containers.flatMap((container) => container.members))
  return members
    .flatMap(({ partitions }) => partitions.map(({ partition }) => partition))
    .toSorted((one, next) => one - next)
}

const idOf = (partition: number): string => transactionalIdOf('orders', { topic: 'orders', partition })

async function take(client: KafkaClient, partition: number): Promise<void> {
  await using rival = client.transactionalProducer(idOf(partition))
  await rival.begin()
}

test('moves all partitions, and closes all producers', () =>
  connectorWorld(async (world) => {
    const { bus, open } = await deskOf(world)
    const { positions: moved } = await bus.admin.seek('orders', { to: 'EARLIEST' }, alice)
    expect(moved).toMatchObject([
      { partition: 0, from: 2n, to: 0n, repeated: 2n },
      { partition: 1, from: 2n, to: 0n, repeated: 2n },
    ])
    expect(await positions(bus)).toEqual([0n, 0n])
    expect(open).toEqual([])
    await bus.stop()
  }))

test('after an id was taken meanwhile, that round writes nothing, and the next one moves everything once', () =>
  connectorWorld(async (world) => {
    const desk = await deskOf(world)
    const { bus, open } = desk
    const before = world.commits.length
    const written: number[] = []
    desk.afterRead = async () => {
      written.push(world.commits.length - before)
      if (written.length === 1) await take(world.client, 1)
    }
    await bus.admin.seek('orders', { to: 'EARLIEST' }, alice)
    expect(written).toEqual([0, 0])
    expect(world.commits.slice(before)).toHaveLength(2)
    expect(await bus.audit()).toMatchObject([
      { committed: 0n, moved: { times: 1 } },
      { committed: 0n, moved: { times: 1 } },
    ])
    expect(open).toEqual([])
    await bus.stop()
  }))

test('an id that is taken in every round ends in an error, without a move', () =>
  connectorWorld(async (world) => {
    const desk = await deskOf(world)
    const { bus, open } = desk
    let reads = 0
    desk.afterRead = () => {
      reads++
      return take(world.client, 1)
    }
    const seeking = bus.admin.seek('orders', { to: 'EARLIEST' }, alice)
    await expect(seeking).rejects.toThrow(PositionUnknownError)
    await expect(seeking).rejects.toMatchObject({ cause: { kind: 'FENCED' } })
    desk.afterRead = nothing
    expect(reads).toBe(3)
    expect(await positions(bus)).toEqual([2n, 2n])
    expect(open).toEqual([])
    await bus.stop()
  }))

test('a group with members is refused, and its owners are not fenced', () =>
  connectorWorld(async (world) => {
    const { bus, made } = await deskOf(world)
    const other = world.connector({ bindings: { orders } })
    await other.start()
    await world.eventually(() => expect(owned(other)).toEqual([0, 1]))
    const seeking = bus.admin.seek('orders', { to: 'EARLIEST' }, alice)
    await expect(seeking).rejects.toThrow(PartialFailureError)
    await expect(seeking).rejects.toThrow(/orders-0.*: The group orders has members/)
    expect(made).toEqual([])
    await bus.stop()
  }))

for (const hook of ['afterQuestion', 'afterRead'] as const)
  test(`a group that a member joins meanwhile (${hook}) is not moved`, () =>
    connectorWorld(async (world) => {
      const desk = await deskOf(world)
      const other = world.connector({ bindings: { orders } })
      desk[hook] = async () => {
        desk[hook] = nothing
        await other.start()
        // It has read its positions, and is idle.
        await world.eventually(() => expect(owned(other)).toEqual([0, 1]))
        await world.sleep(1_000)
      }
      await expect(desk.bus.admin.seek('orders', { to: 'EARLIEST' }, alice)).rejects.toThrow(/has members/)
      expect(await positions(other)).toEqual([2n, 2n])
      expect(desk.open).toEqual([])
      await desk.bus.stop()
    }))

test('a position that cannot be planned leaves all partitions unchanged, and closes all producers', () =>
  connectorWorld(async (world) => {
    const { bus, open } = await deskOf(world)
    const skipping = bus.admin.skip('orders', { partition: 0, offsets: [1n] }, alice)
    await expect(skipping).rejects.toThrow(PositionRefusedError)
    expect(await positions(bus)).toEqual([2n, 2n])
    expect(open).toEqual([])
    await bus.stop()
  }))

test('an id that cannot be taken leaves all partitions unchanged, and closes the producers of the others', () =>
  connectorWorld(async (world) => {
    const desk = await deskOf(world)
    desk.refused = idOf(1)
    await expect(desk.bus.admin.seek('orders', { to: 'EARLIEST' }, alice)).rejects.toThrow('Refused.')
    expect(await positions(desk.bus)).toEqual([2n, 2n])
    expect([desk.made.length, desk.open]).toEqual([2, []])
    await desk.bus.stop()
  }))

for (const trouble of ['ANSWER_LOST', 'NEVER_SENT'] as const)
  test(`a commit with an unknown outcome (${trouble}) is resolved, and moves once`, () =>
    connectorWorld(async (world) => {
      const { bus, troubled, open } = await deskOf(world)
      troubled.begin('EndTxn', trouble)
      const seeking = bus.admin.seek('orders', { to: { offset: 1n }, partitions: [0] }, alice)
      await world.eventually(() => expect(troubled.hits()).toBeGreaterThan(0))
      // Longer than half of the transaction timeout, after which the producer stops retrying.
      await world.sleep(2_100)
      troubled.end()
      expect((await seeking).positions).toMatchObject([{ from: 2n, to: 1n, repeated: 1n }])
      expect(await bus.audit()).toMatchObject([{ committed: 1n, moved: { times: 1 } }, { committed: 2n }])
      expect(open).toEqual([])
      await bus.stop()
    }))

test('a commit that proves not to have happened is forgotten: a later refusal says that nothing moved', () =>
  connectorWorld(async (world) => {
    const { bus, troubled, open } = await deskOf(world)
    troubled.begin('EndTxn', 'NEVER_SENT')
    const seeking = bus.admin.seek('orders', { to: { offset: 1n }, partitions: [0] }, alice)
    const outcome = seeking.catch((error: unknown) => error)
    await world.eventually(() => expect(troubled.hits()).toBeGreaterThan(0))
    world.sim.deleteRecords('orders', 0, 2n)
    await world.sleep(2_100)
    troubled.end()
    expect(await outcome).toBeInstanceOf(PositionRefusedError)
    expect(await positions(bus)).toEqual([2n, 2n])
    expect(open).toEqual([])
    await bus.stop()
  }))

test('the move is reported as unknown when no commit is answered', () =>
  connectorWorld(async (world) => {
    const { bus, troubled } = await deskOf(world)
    troubled.begin('EndTxn', 'NEVER_SENT')
    const seeking = bus.admin.seek('orders', { to: { offset: 1n }, partitions: [0] }, alice)
    await expect(seeking).rejects.toThrow(/were moved: orders-0\./)
    troubled.end()
    expect(await positions(bus)).toEqual([2n, 2n])
    await bus.stop()
  }))
