import type { ContractReport } from '../gate/check-contracts.ts'
import { entriesOf, type ReportEntry, type ReportPlaces } from './report-entry.ts'

/** Returns a report as workflow commands of GitHub Actions, which become annotations of the changed lines. */
export function annotations(report: ContractReport, places: ReportPlaces): string {
  const entries = entriesOf(report, places)
  const libraries = report.libraries.map(
    ({ from, to }) =>
      `::notice title=schema library::${escapeData(`The schema library changed from ${from} to ${to}.`)}\n`,
  )
  return [...(entries.length === 0 ? [] : libraries), ...entries.map(annotation)].join('')
}

const commands = { error: 'error', warning: 'warning', note: 'notice' } as const

/** Percent signs and line ends are escaped; in properties, colons and commas, too. */
function annotation({ level, code, path, line, text }: ReportEntry): string {
  return `::${commands[level]} file=${escapeProperty(path)},line=${line},title=${code}::${escapeData(text)}\n`
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
