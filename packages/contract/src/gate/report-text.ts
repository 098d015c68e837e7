import type { ContractReport, GateFinding } from './check-contracts.ts'

/** The form of a report. */
export type ReportFormat = 'text' | 'json' | 'github'

/** Returns a report in one of its forms; `folder` is the folder of the contract files, for annotations. */
export function reportText(report: ContractReport, format: ReportFormat, folder: string): string {
  if (format === 'json') return `${JSON.stringify(report, null, 2)}\n`
  if (format === 'github') return report.findings.map((finding) => annotation(finding, folder)).join('')
  const lines = report.findings.flatMap((finding) => [
    `${finding.waived === undefined ? finding.severity : 'WAIVED'} ${finding.code} ${finding.file}: ${finding.message}`,
    ...(finding.example === undefined ? [] : [`  example: ${JSON.stringify(finding.example)}`]),
    `  ${finding.waived ?? finding.remedy}`,
  ])
  const stale = report.staleWaivers.map(
    ({ code, event, until }) => `STALE WAIVER ${code} ${event}, until ${until}: remove it`,
  )
  return `${[...lines, ...stale, `${report.compared} contracts compared, ${report.findings.length} findings: ${report.passes ? 'passed' : 'failed'}`].join('\n')}\n`
}

/** A workflow command of GitHub Actions: percent, line ends and, in properties, colons and commas are escaped. */
function annotation({ severity, code, file, message, remedy, example, waived }: GateFinding, folder: string): string {
  const level = waived !== undefined || severity === 'INFO' ? 'notice' : severity === 'BREAKING' ? 'error' : 'warning'
  const text = [
    message,
    ...(example === undefined ? [] : [`Example: ${JSON.stringify(example)}`]),
    waived ?? remedy,
  ].join('\n')
  const properties = `file=${escapeProperty(`${folder}/${file}`)},line=1,title=${code}`
  return `::${level} ${properties}::${escapeData(text)}\n`
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
