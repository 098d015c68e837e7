/**
 * `npm run admin-fuzz -- --requests 20000`: sends random and hostile requests to every route of the admin API. Fails if one is
 * answered with 5xx, or if a client without a permission changed anything.
 */

import { parseArgs } from 'node:util'
import { fuzzAdmin } from '../test/support/fuzz-world.ts'

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '20000' }, seed: { type: 'string', default: '1' } },
})

const tally = await fuzzAdmin(Number(values.requests), Number(values.seed), ({ requests, failures }) => {
  process.stderr.write(`${requests} requests, ${failures.length} failures\n`)
})
for (const failure of tally.failures.slice(0, 20)) process.stderr.write(`${failure}\n`)
const { requests, statuses, failures } = tally
process.stdout.write(
  `${JSON.stringify({ seed: Number(values.seed), requests, statuses, failures: failures.length })}\n`,
)
process.exitCode = failures.length === 0 ? 0 : 1
