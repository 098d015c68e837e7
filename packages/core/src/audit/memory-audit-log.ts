import type { Page, PageQuery } from '../page.ts'
import type { AuditEntry, AuditLog } from './audit-log.ts'
import type { AuditedChange, AuditQuery, AuditReader } from './audit-reader.ts'

const maxEntries = 10_000

/** Creates an audit log in memory: it ends with this process, and keeps the newest 10,000 operations. */
export function createMemoryAuditLog(): AuditLog & AuditReader {
  const changes = new Map<string, AuditedChange>()
  return {
    write(entry) {
      const known = changes.get(entry.id)
      if (known !== undefined) {
        if (known.endedAtMs === undefined && isEnd(entry)) changes.set(entry.id, joined(known, entry))
        return
      }
      changes.set(entry.id, { ...entry, endedAtMs: isEnd(entry) ? entry.atMs : undefined })
      const [oldest] = changes.size > maxEntries ? changes.keys() : []
      if (oldest !== undefined) changes.delete(oldest)
    },
    async query(query: AuditQuery, { limit, cursor }: PageQuery): Promise<Page<AuditedChange>> {
      const found = [...changes.values()]
        .filter((one) => isSelected(one, query) && (cursor === undefined || one.id < cursor))
        .toSorted((one, other) => (one.id < other.id ? 1 : -1))
      const items = found.slice(0, limit)
      return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
    },
  }
}

/** Joins the entry of a request with that of its outcome. */
export function joined(asked: AuditEntry, { outcome, detail, atMs }: AuditEntry): AuditedChange {
  return { ...asked, outcome, detail, endedAtMs: atMs }
}

function isEnd({ outcome }: AuditEntry): boolean {
  return outcome !== 'ASKED'
}

function isSelected({ by, operation, target, outcome, atMs }: AuditedChange, query: AuditQuery): boolean {
  return (
    (query.by ?? by) === by &&
    (query.operation ?? operation) === operation &&
    (query.target ?? target) === target &&
    (query.outcomes?.includes(outcome) ?? true) &&
    atMs >= (query.sinceMs ?? 0) &&
    atMs < (query.untilMs ?? Number.POSITIVE_INFINITY)
  )
}
