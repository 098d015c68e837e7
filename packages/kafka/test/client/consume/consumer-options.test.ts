import type { OptionsError } from '@waybill/core/option'
import { describe, expect, test } from 'vitest'
import {
  type ConsumerOptions,
  companionsOf,
  resolveConsumerOptions,
} from '../../../src/client/consume/consumer-options.ts'

const least: ConsumerOptions = { groupId: 'g', topics: ['a', 'b'] }

function violations(options: Partial<ConsumerOptions>): string[] {
  try {
    resolveConsumerOptions({ ...least, ...options })
    return []
  } catch (error) {
    return (error as OptionsError).violations.map(({ path }) => path)
  }
}

describe('the options of a consumer', () => {
  test('have defaults that let a beat fail several times, and a drain end before the others stop waiting', () => {
    const options = resolveConsumerOptions(least)
    expect(options.sessionTimeoutMs).toBeGreaterThanOrEqual(3 * options.heartbeatIntervalMs)
    expect(options.drainDeadlineMs).toBeLessThanOrEqual(0.6 * options.rebalanceTimeoutMs)
    expect(Object.isFrozen(options)).toBe(true)
  })

  test.each<[string, Partial<ConsumerOptions>, string[]]>([
    ['no topic', { topics: [] }, ['topics']],
    ['an empty group', { groupId: '' }, ['groupId']],
    ['a session of two beats', { sessionTimeoutMs: 2_000, heartbeatIntervalMs: 1_000 }, ['sessionTimeoutMs']],
    ['an unknown policy', { startFrom: 'NOW' as 'LATEST' }, ['startFrom']],
    ['a companion that is subscribed', { companion: () => 'a' }, ['companion', 'companion']],
    ['one companion of two topics', { companion: () => 'x' }, ['companion']],
    ['a wait that the wire cannot hold', { maxWaitMs: 2 ** 31 }, ['maxWaitMs']],
    ['more bytes than the wire can ask for', { partitionMaxBytes: 2 ** 31 }, ['partitionMaxBytes']],
    ['a rebalance that the wire cannot hold', { rebalanceTimeoutMs: 2 ** 31 }, ['rebalanceTimeoutMs']],
    ['a session that the wire cannot hold', { sessionTimeoutMs: 2 ** 31 }, ['sessionTimeoutMs']],
    ['a time-out that no timer can wait for', { requestTimeoutMs: 2 ** 32 }, ['requestTimeoutMs']],
    ['a group that no broker can write down', { groupId: 'é'.repeat(16_384) }, ['groupId']],
    ['an instance that no broker takes', { instanceId: 'x'.repeat(250) }, ['instanceId']],
    ['a topic that no broker takes', { topics: ['x'.repeat(250)] }, ['topics[0]']],
    ['an unknown option', { groupID: 'g' } as Partial<ConsumerOptions>, ['groupID']],
  ])('refuse %s', (_, options, paths) => {
    expect(violations(options)).toEqual(paths)
  })

  test('name the companions there are', () => {
    const options = resolveConsumerOptions({
      ...least,
      companion: (topic) => (topic === 'a' ? 'a.waiting' : undefined),
    })
    expect(companionsOf(options)).toEqual(new Map([['a', 'a.waiting']]))
  })
})
