import { RecordHeaders, replayHeader, trustedHeaders } from '@waybill/core'
import {
  attemptTraceHeader,
  deadLetterHeader,
  deliveryHeader,
  eventHeader,
  type HeaderTrust,
  headerTrustTable,
  isReplayForOtherGroup,
  originalHeader,
  processingAttemptsHeader,
  retryHeader,
  type TopicKind,
  tierAttemptsHeader,
  tierExceptionHeader,
  tierExhaustedAtHeader,
  traceHeader,
  waitingHeader,
} from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'

const kinds: readonly TopicKind[] = ['SOURCE', 'TIER', 'WAITING', 'DLT']

const names = {
  original: Object.values(originalHeader),
  retry: Object.values(retryHeader),
  'tier trail': [tierExceptionHeader(0), tierExhaustedAtHeader(3), tierAttemptsHeader(1)],
  replay: Object.values(replayHeader),
  'attempt trace': Object.values(attemptTraceHeader),
  waiting: Object.values(waitingHeader),
  'dead letter': Object.values(deadLetterHeader),
  delivery: Object.values(deliveryHeader),
}

const expected: Record<keyof typeof names, Record<TopicKind, HeaderTrust>> = {
  original: { SOURCE: 'IGNORED', TIER: 'TRUSTED', WAITING: 'TRUSTED', DLT: 'TRUSTED' },
  retry: { SOURCE: 'IGNORED', TIER: 'TRUSTED', WAITING: 'TRUSTED', DLT: 'TRUSTED' },
  'tier trail': { SOURCE: 'IGNORED', TIER: 'TRUSTED', WAITING: 'TRUSTED', DLT: 'TRUSTED' },
  replay: { SOURCE: 'OWN_GROUP', TIER: 'TRUSTED', WAITING: 'TRUSTED', DLT: 'TRUSTED' },
  'attempt trace': { SOURCE: 'OWN_GROUP', TIER: 'TRUSTED', WAITING: 'TRUSTED', DLT: 'TRUSTED' },
  waiting: { SOURCE: 'IGNORED', TIER: 'IGNORED', WAITING: 'TRUSTED', DLT: 'IGNORED' },
  'dead letter': { SOURCE: 'IGNORED', TIER: 'IGNORED', WAITING: 'IGNORED', DLT: 'TRUSTED' },
  delivery: { SOURCE: 'IGNORED', TIER: 'IGNORED', WAITING: 'IGNORED', DLT: 'IGNORED' },
}

const families = Object.keys(names) as (keyof typeof names)[]
const forgedByAnybody = RecordHeaders.from(
  families
    .filter((family) => family !== 'replay')
    .flatMap((family) => names[family].map((name) => [name, '1'] as const)),
)

describe('the trust in engine headers', () => {
  test('is settled by one row for each family', () => {
    expect(headerTrustTable.map(({ family }) => family).toSorted()).toEqual(families.toSorted())
    for (const name of Object.values(names).flat())
      expect(headerTrustTable.filter((row) => row.covers(name))).toHaveLength(1)
  })

  describe.each(families)('of the family %s', (family) => {
    test.each(kinds)('is what the table says on a %s topic', (kind) => {
      const trust = expected[family][kind]
      expect(headerTrustTable.find((row) => row.family === family)?.[kind]).toBe(trust)
      for (const name of names[family]) {
        const ownGroup = RecordHeaders.from([[name, '1']]).with(replayHeader.consumerGroup, 'shipping')
        const otherGroup = ownGroup.with(replayHeader.consumerGroup, 'billing')
        expect(trustedHeaders(ownGroup, kind, 'shipping').has(name)).toBe(trust !== 'IGNORED')
        expect(trustedHeaders(otherGroup, kind, 'shipping').has(name)).toBe(trust === 'TRUSTED')
      }
    })
  })

  test('leaves nothing of what is forged on a source topic', () => {
    expect(trustedHeaders(forgedByAnybody, 'SOURCE', 'shipping').size).toBe(0)
  })

  test('needs the group of the binding beside a replay count on a source topic', () => {
    const withoutGroup = RecordHeaders.from([[replayHeader.count, 2]])
    const groups = ['shipping', 'billing', '', null]
    expect(trustedHeaders(withoutGroup, 'SOURCE', 'shipping').integer(replayHeader.count)).toBeUndefined()
    expect(
      groups.map((group) =>
        trustedHeaders(withoutGroup.with(replayHeader.consumerGroup, group), 'SOURCE', 'shipping').integer(
          replayHeader.count,
        ),
      ),
    ).toEqual([2, undefined, undefined, undefined])
  })

  test('counts the last of several groups, the one every reader sees', () => {
    const headers = RecordHeaders.from([
      [replayHeader.count, 2],
      [replayHeader.consumerGroup, 'shipping'],
      [replayHeader.consumerGroup, 'billing'],
    ])
    expect(trustedHeaders(headers, 'SOURCE', 'shipping').size).toBe(0)
    expect(trustedHeaders(headers, 'SOURCE', 'billing').size).toBe(3)
  })

  test.each(kinds)('is denied to an engine header no row knows, on a %s topic', (kind) => {
    const headers = RecordHeaders.from([['x-eventbus-tomorrow', '1']])
    expect(trustedHeaders(headers, kind, 'shipping').size).toBe(0)
  })

  test.each(kinds)('does not touch the headers of the application on a %s topic', (kind) => {
    const headers = RecordHeaders.from(
      [
        ...Object.values(eventHeader),
        ...Object.values(traceHeader),
        processingAttemptsHeader,
        'X-Eventbus-Retry-Tier',
      ].map((name) => [name, '1'] as const),
    )
    expect(trustedHeaders(headers, kind, 'shipping')).toBe(headers)
  })
})

describe('a replay is for another group', () => {
  test.each<[boolean, string, [string, string | null][]]>([
    [
      true,
      'counted and addressed to another group',
      [
        [replayHeader.count, '1'],
        [replayHeader.consumerGroup, 'billing'],
      ],
    ],
    [
      true,
      'counted wrongly and addressed to another group',
      [
        [replayHeader.count, 'x'],
        [replayHeader.consumerGroup, 'billing'],
      ],
    ],
    [
      false,
      'addressed to this group',
      [
        [replayHeader.count, '1'],
        [replayHeader.consumerGroup, 'shipping'],
      ],
    ],
    [false, 'addressed to no group', [[replayHeader.count, '1']]],
    [
      false,
      'addressed to null',
      [
        [replayHeader.count, '1'],
        [replayHeader.consumerGroup, null],
      ],
    ],
    [
      true,
      'a replay for another group to the topic it came from',
      [
        [replayHeader.count, '1'],
        [replayHeader.consumerGroup, 'billing'],
        [originalHeader.topic, 'orders'],
      ],
    ],
    [
      false,
      'copied from another topic with its headers',
      [
        [replayHeader.count, '1'],
        [replayHeader.consumerGroup, 'billing'],
        [originalHeader.topic, 'carts'],
      ],
    ],
    [
      false,
      'the dead letter of a replay',
      [
        [replayHeader.count, '1'],
        [replayHeader.consumerGroup, 'billing'],
        [deadLetterHeader.reason, 'RETRIES_EXHAUSTED'],
      ],
    ],
    [false, 'no replay', [[replayHeader.consumerGroup, 'billing']]],
    [false, 'without headers', []],
  ])('(%s) when it is %s', (answer, _, pairs) => {
    expect(isReplayForOtherGroup(RecordHeaders.from(pairs), 'shipping', 'orders')).toBe(answer)
  })
})
