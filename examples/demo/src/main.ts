/** `npm run demo`: orders travel, one carrier fails, the process is killed, dead letters are replayed, and nothing is lost. */

import type { Audit } from './audit.ts'
import { createNarrator, silentNarrator } from './narrator.ts'
import { type DemoOptions, readOptions, usage } from './options.ts'
import { type Ending, playStory } from './story.ts'

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  let options: DemoOptions | undefined
  try {
    options = readOptions(args, process.env)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
    return 2
  }
  if (options === undefined) {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  const startedAt = performance.now()
  const ending = await playStory(options, options.isJson ? silentNarrator : createNarrator(process.stdout))
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  process.stdout.write(options.isJson ? `${JSON.stringify({ ...ending.audit, seconds })}\n` : tableOf(ending, seconds))
  return isSound(ending.audit) ? 0 : 1
}

function isSound({ written, handled, dead, duplicates, phantoms, lost }: Audit): boolean {
  return lost === 0 && duplicates === 0 && phantoms === 0 && written === handled + dead
}

function tableOf({ audit, ledger }: Ending, seconds: number): string {
  const rows: readonly (readonly [string, number, string])[] = [
    ['written', audit.written, 'orders committed, each with its event'],
    ['published', audit.published, `of them on Kafka${repeats(audit.repeatedRecords)}`],
    ['handled', audit.handled, 'shipped'],
    ['dead', audit.dead, `in the dead letter topic, with their history; ${audit.replayed} were replayed`],
    ['duplicates', audit.duplicates, 'shipped twice'],
    ['lost', audit.lost, ''],
  ]
  const table = rows.map(([name, count, text]) => `  ${name.padEnd(11)}${String(count).padStart(5)}  ${text}`.trimEnd())
  const own = ledger.reduce(
    (sum, row) => ({ ok: sum.ok + row.ok, retried: sum.retried + row.retried, dead: sum.dead + row.dead }),
    { ok: 0, retried: 0, dead: 0 },
  )
  return [
    ...table,
    '',
    `  The connector's own account, from its commits: ${own.ok} handled, ${own.retried} to a retry topic, ${own.dead} dead.`,
    '',
    isSound(audit)
      ? `  ${audit.written} written = ${audit.handled} handled + ${audit.dead} dead, lost 0. (${seconds} s)`
      : `  THE ACCOUNT DOES NOT ADD UP after ${seconds} s: please report it, with the shop's log.`,
    '',
  ].join('\n')
}

function repeats(count: number): string {
  return count === 0 ? '' : `; ${count} a second time, after the kill, and recognised by their id`
}
