import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { describeWith } from '@waybill/test-support'
import { expect, test } from 'vitest'

/** Runs a program to its end; undefined when this machine does not have it. */
async function run(command: string, args: readonly string[], input = ''): Promise<string | undefined> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] })
  const isMissing = new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(true))
    child.once('spawn', () => resolve(false))
  })
  if (await isMissing) return undefined
  child.stdin.end(input)
  return text(child.stdout)
}

describeWith('kafka')('another program', ({ kafka }) => {
  test('exchanges a record with itself through the Kafka that runs here', async ({ skip }) => {
    skip((await run('kcat', ['-V'])) === undefined, 'kcat is not installed (Debian: apt-get install kcat)')
    const topic = await kafka.createTopic('orders')
    const brokers = ['-b', kafka.bootstrap.join(',')]
    await run('kcat', ['-P', ...brokers, '-t', topic, '-K', ':'], 'order-1:{"total":42}\n')
    const seen = await run('kcat', [
      '-C',
      ...brokers,
      '-t',
      topic,
      '-o',
      'beginning',
      '-e',
      '-q',
      '-f',
      '%p/%o %k %s\n',
    ])
    expect(seen).toBe('0/0 order-1 {"total":42}\n')
  })
})
