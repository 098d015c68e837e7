import { kinds } from './kinds.ts'
import type { ServiceReport } from './service-set.ts'

/** Removes the password from an address: printed text ends up in logs. */
export function withoutPassword(url: string): string {
  return url.replace(/(?<=:\/\/[^/@]*:)[^/@]*(?=@)/, '***')
}

/** Formats the report for people: a table, then the export lines with the addresses for other programs. */
export function describeReports(reports: readonly ServiceReport[]): string {
  const rows = reports.map((report) => [
    report.service,
    report.state.toLowerCase().replace('_', ' '),
    detailsOf(report),
  ])
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  const exports = reports.flatMap(exportOf)
  return [...lines, ...(exports.length === 0 ? [] : ['', ...exports]), ''].join('\n')
}

/** Formats the report for machines: one object per line. */
export function toJsonLines(reports: readonly ServiceReport[]): string {
  return reports.map((report) => `${JSON.stringify(toJson(report))}\n`).join('')
}

function detailsOf(report: ServiceReport): string {
  switch (report.state) {
    case 'FOUND':
      return `${withoutPassword(report.url)}  ${versionOf(report)}`
    case 'STARTED': {
      const { processes } = report.record
      const pids = processes.map(({ pid }) => pid).join(', ')
      return `${report.url}  ${versionOf(report)}  pid ${pids}  log ${processes.map(({ logFile }) => logFile).join(', ')}`
    }
    case 'UNSUITABLE':
      return `${withoutPassword(report.url)}  ${report.reason}`
    case 'ABSENT':
    case 'LEFT_ALONE':
      return report.reason
    case 'STOPPED':
      return report.url
  }
}

function versionOf({ answer }: Extract<ServiceReport, { answer: unknown }>): string {
  return answer.brokers === undefined || answer.brokers === 1
    ? answer.version
    : `${answer.version}, ${answer.brokers} brokers`
}

/** Returns no line for an address from the environment: it is already set, and may contain a password. */
function exportOf(report: ServiceReport): string[] {
  const isUsable = report.state === 'STARTED' || (report.state === 'FOUND' && !report.isNamed)
  return isUsable ? [`export ${kinds[report.service].variable}=${report.url}`] : []
}

function toJson(report: ServiceReport): object {
  const { service, state } = report
  const base = { service, state, variable: kinds[service].variable }
  switch (report.state) {
    case 'FOUND':
      return { ...base, url: withoutPassword(report.url), ...report.answer }
    case 'STARTED': {
      const { processes } = report.record
      const logFiles = processes.map(({ logFile }) => logFile)
      return { ...base, url: report.url, ...report.answer, pids: processes.map(({ pid }) => pid), logFiles }
    }
    case 'UNSUITABLE':
      return { ...base, url: withoutPassword(report.url), reason: report.reason }
    case 'ABSENT':
    case 'LEFT_ALONE':
      return { ...base, reason: report.reason }
    case 'STOPPED':
      return { ...base, url: report.url }
  }
}
