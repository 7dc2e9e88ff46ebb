-- ARGV: name. Returns how many there were.
redis.call('ZREM', P .. 'documents', ARGV[1])
return redis.call('UNLINK', P .. 'document:' .. ARGV[1])
