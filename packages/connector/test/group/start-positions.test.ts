import { expect, test } from 'vitest'
import type { StartOffsets } from '../../src/api/binding.ts'
import { StartPositions } from '../../src/group/start-positions.ts'

const at = (partition: number) => ({ topic: 'orders', partition })
const admin = {
  listOffsets: async (
    partitions: readonly { readonly topic: string; readonly partition: number }[],
    which: unknown,
  ) => {
    const offset = which === 'EARLIEST' ? 7n : 30n
    return partitions.map((one) => ({ ...one, outcome: 'DONE' as const, error: null, offset, timestamp: null }))
  },
}

/** Returns the seeks for partitions at position 20, of which these offsets are stored. */
async function seeksFor(stored: Awaited<ReturnType<StartOffsets>>): Promise<readonly string[]> {
  const seeks: string[] = []
  const starts = new StartPositions(async () => stored, admin)
  await starts.find([at(0), at(1)])
  const consumer = {
    position: () => 20n,
    seek: ({ partition }: { readonly partition: number }, offset: bigint) =>
      void seeks.push(`${partition} to ${offset}`),
  }
  for (const partition of [0, 1]) starts.apply(consumer, at(partition))
  // Another assignment asks anew.
  for (const partition of [0, 1]) starts.apply(consumer, at(partition))
  return seeks
}

test('a stored position below the committed offset is read again, and one at or above it is left', async () => {
  expect(
    await seeksFor([
      { ...at(0), offset: 12n },
      { ...at(1), offset: 20n },
    ]),
  ).toEqual(['0 to 12'])
  expect(await seeksFor([{ ...at(0), offset: 25n }])).toEqual([])
})

test('a partition of which nothing is stored is read from the first record that its log still has', async () => {
  expect(await seeksFor([{ ...at(1), offset: 0n }])).toEqual(['1 to 7'])
})

test('a store that does not answer leaves partitions closed, because the client retries their opening', async () => {
  const starts = new StartPositions(() => Promise.reject(new Error('the database is away')), admin)
  await expect(starts.find([at(0)])).rejects.toThrow('the database is away')
})

test('a stored position above the end of the log is refused with its numbers: new records below it would be skipped', async () => {
  const starts = (offset: bigint) =>
    new StartPositions(
      async () => [
        { ...at(0), offset },
        { ...at(1), offset: 3n },
      ],
      admin,
    )
  await expect(starts(31n).find([at(0), at(1)])).rejects.toThrow(
    'The stored position 31 of orders-0 is above the end of its log, 30',
  )
  await starts(30n).find([at(0), at(1)])
})
