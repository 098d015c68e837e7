import type { ComponentChildren, JSX } from 'preact'
import { auditText } from '../../text/audit.ts'
import { type AuditFilter, outcomes } from './audit-query.ts'

const { filters } = auditText

/** The filter of the log. Texts match whole. */
export function AuditFilters({
  filter,
  onChange,
  children,
}: {
  readonly filter: AuditFilter
  readonly onChange: (change: Partial<AuditFilter>) => void
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <div class="filters">
      {(['by', 'operation', 'target'] as const).map((name) => (
        <input
          key={name}
          type="search"
          aria-label={filters[name]}
          placeholder={filters[name]}
          value={filter[name]}
          // Texts match whole, so that a filter takes effect when it is complete.
          onChange={(event) => onChange({ [name]: event.currentTarget.value.trim() })}
        />
      ))}
      <select
        aria-label={filters.outcome}
        value={filter.outcome}
        onChange={(event) => onChange({ outcome: event.currentTarget.value as AuditFilter['outcome'] })}
      >
        {outcomes.map((one) => (
          <option key={one} value={one}>
            {one === '' ? auditText.anyOutcome : one}
          </option>
        ))}
      </select>
      <select
        aria-label={filters.since}
        value={filter.since}
        onChange={(event) => onChange({ since: event.currentTarget.value })}
      >
        {auditText.sinceChoices.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      {children}
    </div>
  )
}
