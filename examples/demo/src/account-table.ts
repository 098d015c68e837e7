import type { Audit } from './audit.ts'
import type { Ending } from './story.ts'

/** Tells whether nothing is missing or duplicated. */
export function isSound({ written, handled, dead, duplicates, phantoms, lost }: Audit): boolean {
  return lost === 0 && duplicates === 0 && phantoms === 0 && written === handled + dead
}

/** Formats the audit as a table. */
export function tableOf({ audit, ledger }: Ending, seconds: number): string {
  const rows: readonly (readonly [string, number, string])[] = [
    ['written', audit.written, 'orders committed, each with its event'],
    ['published', audit.published, `of them on Kafka${repeats(audit.repeatedRecords)}`],
    ['handled', audit.handled, 'shipped'],
    [
      'dead',
      audit.dead,
      `in the dead letter topic, with ${itsOrTheir(audit.dead)} history; ${replays(audit.replayed)}`,
    ],
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
    `  The connector's own audit, from its commits: ${own.ok} handled, ${own.retried} to a retry topic, ${own.dead} dead.`,
    '',
    isSound(audit)
      ? `  ${audit.written} written = ${audit.handled} handled + ${audit.dead} dead, lost 0. (${seconds} s)`
      : `  THE AUDIT DOES NOT ADD UP after ${seconds} s: please report it, with the shop's log.`,
    '',
  ].join('\n')
}

function repeats(count: number): string {
  return count === 0 ? '' : `; ${count} a second time, after the kill, and recognized by ${itsOrTheir(count)} id`
}

function replays(count: number): string {
  return `${count} ${count === 1 ? 'was' : 'were'} replayed`
}

function itsOrTheir(count: number): string {
  return count === 1 ? 'its' : 'their'
}
