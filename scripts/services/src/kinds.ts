import { kafka } from './kind/kafka.ts'
import { mysql } from './kind/mysql.ts'
import { postgres } from './kind/postgres.ts'
import { redis } from './kind/redis.ts'
import { registry } from './kind/registry.ts'
import type { ServiceKind } from './kind/service-kind.ts'
import type { ServiceName } from './service.ts'

/** Every service by its name. */
export const kinds: Readonly<Record<ServiceName, ServiceKind>> = { kafka, postgres, mysql, redis, registry }
