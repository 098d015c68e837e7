import assert from 'node:assert/strict'
import type {
  DeadLetterFilter,
  DeadLetterIndex,
  DeadLetterState,
  FailureGroup,
  IndexedDeadLetter,
} from '@waybill/core/internal'
import {
  type DeadLetterIndexSuite,
  everything,
  hour,
  largeOffset,
  letter,
  noon,
  refOf,
} from './dead-letter-index-scene.ts'

const steps = 60
const states: readonly DeadLetterState[] = ['OPEN', 'REPLAYED', 'SUCCEEDED', 'RESOLVED']

/** Declares the test that groups and facets agree with the list after any changes. */
export function agreementPart({ describe, test }: DeadLetterIndexSuite): void {
  describe('groups and facets', () => {
    for (const seed of [1, 2, 3])
      test(`are those of the listed dead letters after random changes (seed ${seed})`, async ({ index, other }) => {
        const random = randomOf(seed)
        for (let step = 0; step < steps; step++) {
          await change(random() < 0.5 ? index : other, random)
          if (step % 10 === 9)
            await agree(index, {
              sinceMs: noon + Math.floor(random() * 5 * hour),
              untilMs: noon + Math.floor(random() * 9 * hour),
            })
        }
        await agree(other, {})
        await agree(other, { states: ['OPEN'] })
        await agree(other, { binding: 'mail', minAttempts: 2 })
      })
  })
}

async function change(index: DeadLetterIndex, random: () => number): Promise<void> {
  const pick = (count: number): number => Math.floor(random() * count)
  const some = Array.from({ length: 1 + pick(8) }, () => {
    const no = pick(60)
    const of = (values: readonly string[], by: number): string => values[(no * by) % values.length] as string
    return letter(no, {
      deadAtMs: noon + ((no * 7_919) % (7 * hour)),
      group: of(['a1', 'b2', 'c3'], 7),
      binding: of(['shipping', 'mail'], 5),
      exception: of(['HttpError', 'ZodError', 'TypeError'], 3),
      attempts: no % 4,
    })
  })
  const kind = random()
  if (kind < 0.5) await index.put(some, [])
  else if (kind < 0.9) await index.mark(some.map(refOf), [states[pick(4)] ?? 'OPEN'], states[pick(4)] ?? 'OPEN', 'op_1')
  else await index.forget({ cluster: 'default', topic: 'orders.DLT', partition: 0 }, largeOffset + BigInt(pick(20)))
}

async function agree(index: DeadLetterIndex, filter: DeadLetterFilter): Promise<void> {
  const { items, total } = await index.query(filter, everything)
  assert.equal(total?.count, BigInt(items.length))
  const groups = await index.groups(filter, 'COUNT', everything)
  const shown = groups.items.map(({ group, count, firstAtMs, lastAtMs, replayed }) => ({
    group,
    count,
    firstAtMs,
    lastAtMs,
    replayed,
  }))
  assert.deepEqual(
    shown.toSorted((one, two) => (one.group < two.group ? -1 : 1)),
    [...Map.groupBy(items, ({ group }) => group)]
      .map(([group, all]) => expectedGroup(group, all))
      .toSorted((one, two) => (one.group < two.group ? -1 : 1)),
  )
  const { exception } = await index.facets(filter, ['exception'])
  const counts = Map.groupBy(items, (one) => one.exception)
  assert.deepEqual(
    new Map(exception?.values.map(({ value, count }) => [value, Number(count)])),
    new Map(exception?.values.map(({ value }) => [value, counts.get(value)?.length])),
  )
  assert.equal(exception?.values.length, counts.size)
}

function expectedGroup(group: string, all: readonly IndexedDeadLetter[]): Partial<FailureGroup> & { group: string } {
  const times = all.map(({ deadAtMs }) => deadAtMs)
  return {
    group,
    count: BigInt(all.length),
    firstAtMs: Math.min(...times),
    lastAtMs: Math.max(...times),
    replayed: BigInt(all.filter(({ state }) => state === 'REPLAYED' || state === 'SUCCEEDED').length),
  }
}

/** Returns numbers from 0 to 1, the same for a seed. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
