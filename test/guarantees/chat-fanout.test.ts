import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describeWith } from '@waybill/test-support'
import { expect, test } from 'vitest'
import { report, scale } from './support/scale.ts'

const main = join(import.meta.dirname, '../../examples/chat-fanout/src/main.ts')
const clients = scale === 'WHOLE' ? 500 : 40

describeWith(
  'kafka',
  'postgres',
  'redis',
)('the chat on real services', ({ kafka, postgres, redis }) => {
  test('S2-068 S2-071 S2-075 chat clients end with every message in order, though a worker is killed', {
    timeout: 240_000,
  }, async () => {
    const environment = {
      ...process.env,
      KAFKA_BOOTSTRAP: kafka.bootstrap.join(),
      DATABASE_URL: postgres.url.replace(/\?.*/, ''),
      REDIS_URL: redis.url,
    }
    const command = ['--conditions=@waybill/source', main, '--real', '--json', '--clients', String(clients)]
    const { stdout } = await promisify(execFile)(process.execPath, command, { env: environment })
    const { accepted, complete, reconnects, gaps, skipped, deadLetters } = JSON.parse(stdout)
    expect({ complete, reconnects }).toEqual({ complete: clients, reconnects: clients / 2 })
    expect(skipped).toBeGreaterThanOrEqual(4)
    // A skipped delivery is no dead letter: only the record that is no event is.
    expect(deadLetters).toEqual([expect.stringMatching(/^ParseError: /)])
    report(`${clients} clients, ${accepted} messages: ${gaps} gaps healed, ${skipped} deliveries skipped`)
  })
})
