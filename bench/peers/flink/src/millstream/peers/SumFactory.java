package millstream.peers;

import java.util.Set;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.streaming.api.functions.sink.legacy.RichSinkFunction;
import org.apache.flink.streaming.api.functions.sink.legacy.SinkFunction;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.sink.legacy.SinkFunctionProvider;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.FactoryUtil;

/** 'connector'='peers-sum': counts rows and adds up their only column, in the accumulators of the job. */
public final class SumFactory implements DynamicTableSinkFactory {
  private static final ConfigOption<Integer> QUERY = ConfigOptions.key("query").intType().noDefaultValue();

  @Override
  public String factoryIdentifier() {
    return "peers-sum";
  }

  @Override
  public Set<ConfigOption<?>> requiredOptions() {
    return Set.of(QUERY);
  }

  @Override
  public Set<ConfigOption<?>> optionalOptions() {
    return Set.of();
  }

  @Override
  public DynamicTableSink createDynamicTableSink(Context context) {
    FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
    helper.validate();
    return new Sink(helper.getOptions().get(QUERY));
  }

  private record Sink(int query) implements DynamicTableSink {
    @Override
    public ChangelogMode getChangelogMode(ChangelogMode requested) {
      return ChangelogMode.insertOnly();
    }

    @Override
    public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
      return SinkFunctionProvider.of(new Sum(query));
    }

    @Override
    public DynamicTableSink copy() {
      return this;
    }

    @Override
    public String asSummaryString() {
      return "peers-sum";
    }
  }

  private static final class Sum extends RichSinkFunction<RowData> {
    private final int query;
    private transient LongCounter rows;
    private transient LongCounter digest;

    Sum(int query) {
      this.query = query;
    }

    @Override
    public void open(OpenContext context) {
      rows = new LongCounter();
      digest = new LongCounter();
      getRuntimeContext().addAccumulator("rows-" + query, rows);
      getRuntimeContext().addAccumulator("digest-" + query, digest);
    }

    @Override
    public void invoke(RowData row, SinkFunction.Context context) {
      rows.add(1L);
      digest.add(row.getLong(0));
    }
  }
}
