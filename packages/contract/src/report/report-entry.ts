import type { ContractReport } from '../gate/check-contracts.ts'
import type { GateFinding, StaleWaiver } from '../gate/gate-finding.ts'
import { contractRules } from '../rule/rules.ts'
import { lineOfPointer } from './line-of-pointer.ts'

/** The name of the file of waivers, beside the contracts. */
export const waiverFile = 'waivers.json'

/** The places of a report's files, for formats that point at lines. */
export interface ReportPlaces {
  /** The folder of the contract files, from the root of the repository. */
  readonly folder: string
  /** The texts of contract files by their paths inside the folder. */
  readonly texts?: ReadonlyMap<string, string> | undefined
}

/** One line of a report: a finding or a stale waiver. */
export interface ReportEntry {
  readonly code: string
  readonly event: string
  readonly level: 'error' | 'warning' | 'note'
  /** Path from the root of the repository. */
  readonly path: string
  readonly line: number
  readonly message: string
  /** The message with the example and the remedy, or the reason of the waiver. */
  readonly text: string
  /** The reason of the waiver that covers it. */
  readonly waived?: string
}

/** Returns what a report has to say, in the order of its files. */
export function entriesOf(report: ContractReport, places: ReportPlaces): readonly ReportEntry[] {
  return [
    ...report.findings.map((finding) => entryOf(finding, places)),
    ...report.staleWaivers.map((waiver) => staleEntry(waiver, places)),
  ]
}

const levels = { BREAKING: 'error', WARNING: 'warning', INFO: 'note' } as const

function entryOf(finding: GateFinding, { folder, texts }: ReportPlaces): ReportEntry {
  const { severity, code, event, file, message, remedy, example, waived, at } = finding
  const source = texts?.get(file)
  const lines = [
    message,
    ...(example === undefined ? [] : [`Example: ${JSON.stringify(example)}`]),
    waived === undefined ? remedy : `Waived: ${waived}`,
  ]
  return {
    code,
    event,
    level: waived === undefined ? levels[severity] : 'note',
    path: joined(folder, file),
    line: source === undefined ? 1 : lineOfPointer(source, at.newer ?? at.older ?? ''),
    message,
    text: lines.join('\n'),
    ...(waived === undefined ? {} : { waived }),
  }
}

/** Returns the sentence about a stale waiver. */
export function staleText({ code, event, until, why }: StaleWaiver): string {
  const reason = why === 'EXPIRED' ? `expired on ${until}` : 'covers no finding'
  return `The waiver of ${code} for ${event} ${reason}`
}

function staleEntry(waiver: StaleWaiver, { folder, texts }: ReportPlaces): ReportEntry {
  const { code, remedy } = contractRules.staleWaiver
  const message = staleText(waiver)
  const before = texts?.get(waiverFile)?.split(`"${waiver.code}"`)[0]
  return {
    code,
    event: waiver.event,
    level: levels[waiver.severity],
    path: joined(folder, waiverFile),
    line: before?.split('\n').length ?? 1,
    message,
    text: `${message}\n${remedy}`,
  }
}

function joined(folder: string, file: string): string {
  return folder === '' || folder === '.' ? file : `${folder}/${file}`
}
