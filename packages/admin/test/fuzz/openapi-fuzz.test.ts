/** Random requests for every route of the document. `npm run admin-fuzz -- --requests 20000` sends more. */
import { expect, test } from 'vitest'
import { fuzzAdmin } from '../support/fuzz-world.ts'

const requests = 2_000
const seed = 20_261_119

test('random and hostile requests are never answered with 5xx, and change nothing without a permission', {
  timeout: 300_000,
}, async () => {
  const tally = await fuzzAdmin(requests, seed, () => {})
  process.stdout.write(`${JSON.stringify({ seed, requests: tally.requests, statuses: tally.statuses })}\n`)
  expect(tally.failures).toEqual([])
  // They reach the routes: not everything is refused before.
  for (const status of [200, 400, 401, 403, 404]) expect(tally.statuses[status]).toBeGreaterThan(10)
})
