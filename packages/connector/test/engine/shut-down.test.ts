import { StopDeadlineError } from '@waybill/core'
import type { KafkaClient, Producer } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import { ConnectorClosedError } from '../../src/api/connector-errors.ts'
import { connectorWorld, failing } from '../support/connector-world.ts'

const bindingOf = (topic: string, handler: Binding['handler'], more: Partial<Binding> = {}): Binding => ({
  topic,
  groupId: topic,
  handler,
  ...more,
})

describe('GracefulShutdown', () => {
  describe('S0-159 stopping a connector', () => {
    test('rejects registrations and commands at once, pauses all, waits, commits, and leaves the groups', () =>
      connectorWorld(async (world) => {
        for (const topic of ['slow', 'quick']) world.sim.createTopic(topic)
        const handled: string[] = []
        const bus = world.connector({
          bindings: {
            slow: bindingOf('slow', async ({ value }) => {
              await world.sleep(5_000)
              handled.push(value?.toString() ?? '')
            }),
            quick: bindingOf('quick', async ({ value }) => void handled.push(value?.toString() ?? '')),
          },
        })
        await bus.start()
        await world.write('slow', ['a', 'b'])
        await world.eventually(() =>
          expect(bus.listBindings().map(({ containers }) => containers.length)).toEqual([4, 4]),
        )
        await world.sleep(2_000)

        const stopping = bus.stop()
        await expect(
          bus.register(
            'late',
            bindingOf('late', async () => {}),
          ),
        ).rejects.toThrow(ConnectorClosedError)
        await expect(bus.start('quick')).rejects.toThrow(ConnectorClosedError)
        await world.sleep(0)
        expect(bus.listBindings().map(({ pausedBy }) => pausedBy.includes('SHUTDOWN'))).toEqual([true, true])
        await world.write('quick', ['c'])
        await stopping

        expect(handled).toEqual(['a'])
        const groups = await world.client.admin.describeGroups(['slow', 'quick'])
        expect(groups.map((group) => group.outcome === 'DONE' && group.members)).toEqual([[], []])
        const [slow] = await world.client.admin.groupOffsets('slow', [{ topic: 'slow', partition: 0 }])
        expect(slow).toMatchObject({ committed: 1n })
      }))

    test('gives a binding its whole shutdownTimeoutMs unless the caller has less time', () =>
      connectorWorld(async (world) => {
        world.sim.createTopic('long')
        let ended = 0
        const handler = async (): Promise<void> => {
          await world.sleep(70_000)
          ended++
        }
        const bus = world.connector({ bindings: { long: bindingOf('long', handler, { shutdownTimeoutMs: 120_000 }) } })
        await bus.start()
        await world.write('long', ['a'])
        await world.sleep(10_000)
        await bus.stop()
        expect(ended).toBe(1)
      }))

    test('closes the producer of retries and dead letters, once no binding is a member of its group any more', () =>
      connectorWorld(async (world) => {
        world.sim.createTopic('orders')
        const closedWith: number[] = []
        const watched = (producer: Producer): Producer =>
          new Proxy(producer, {
            get(target, name) {
              const member: unknown = Reflect.get(target, name)
              if (typeof member !== 'function') return member
              if (name === 'close') closedWith.push(world.sim.group('orders').members.length)
              return member.bind(target)
            },
          })
        const client: KafkaClient = {
          ...world.client,
          producer: (preset, options) => watched(world.client.producer(preset, options)),
        }
        const bus = world.connector({ bindings: { orders: bindingOf('orders', failing) } }, world.runtime, client)
        await bus.start()
        await world.write('orders', ['a'])
        await world.sleep(5_000)
        expect(closedWith).toEqual([])
        await bus.stop()
        expect(closedWith).toEqual([0])
      }))

    test('succeeds when no binding is left', () =>
      connectorWorld(async (world) => {
        world.sim.createTopic('only')
        const bus = world.connector({ bindings: { only: bindingOf('only', () => Promise.reject(new Error('fails'))) } })
        await bus.start()
        await world.write('only', ['a'])
        await world.sleep(5_000)
        await bus.destroy('only')
        await bus.stop()
        expect(bus.state).toBe('STOPPED')
      }))

    test('a handler that ignores its signal blocks no other binding, and is named at the deadline', () =>
      connectorWorld(async (world) => {
        for (const topic of ['stuck', 'quick']) world.sim.createTopic(topic)
        const bus = world.connector({
          bindings: {
            stuck: bindingOf('stuck', () => new Promise(() => {})),
            quick: bindingOf('quick', async () => {}),
          },
        })
        await bus.start()
        await world.write('stuck', ['a'])
        await world.sleep(5_000)
        const before = world.runtime.clock.monotonic()
        const stopping = bus.stop({ deadlineMs: 10_000 })
        const stopped = stopping.then(
          () => undefined,
          (error: unknown) => error,
        )
        await world.sleep(1_000)
        expect(bus.getState('quick')).toBe('STOPPED')
        const error = await stopped
        expect(error).toBeInstanceOf(StopDeadlineError)
        expect((error as StopDeadlineError).stillRunning).toEqual(['1 handler of binding stuck'])
        expect(world.runtime.clock.monotonic() - before).toBeLessThanOrEqual(10_000)
      }))
  })
})
